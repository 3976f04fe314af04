"""Every setting in one typed model: command line over environment (NKI_ANVIL_*) over ``nki-anvil.toml``.

It fills the laboratory's Rules and knows nothing of what they are for.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.backends.ssh.hosts import HostSettings
from nki_anvil.lab.rules import MOST_ROUNDS, Rules, refuse_looks

PREFIX = "NKI_ANVIL_"
FILE = "nki-anvil.toml"


class Settings(BaseSettings):
    """Where things lie, where kernels run, how strict the laboratory is, and how the server is reached."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    workspace: Path = Field(default_factory=Path.cwd)
    """Kernels are read and written in here and nowhere else. The folder the server was started in: clients start it in
    the project."""
    data: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("nki-anvil", appauthor=False)))
    """Memory, hidden cases and reference caches. Outside the workspace, so that lessons outlive a project and a kernel
    cannot read the cases it is judged by."""
    config: Path | None = None
    """Another file than ``nki-anvil.toml`` of the workspace, for settings that several workspaces share."""
    backend: str = "simulator"
    """Needs nothing but this package, so it works on the first day."""
    calibration: str = ""
    """Host whose fitted constants (`nki-anvil calibrate`) the performance model uses. Empty: published constants."""
    hosts: str = ""
    """Trainium hosts, ``[simulate:]user@host[:port]`` or names of ``~/.ssh/config``, with commas between. Empty:
    simulator only."""
    remote: dict[str, HostSettings] = Field(default_factory=dict)
    """More per host, as tables ``[remote.<host>]``: Pythons, cores, time limits. Defaults suit the vendor's images."""
    ray: str = ""
    """Address of a Ray cluster: ``host:6379``, ``ray://host:10001`` or ``auto``. Empty: none. Needs nki-anvil[ray]."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """INFO says one line per call; a log that is read after a failure should show what led to it."""
    host: str = "127.0.0.1"
    """Of HTTP. Whoever reaches the server can run kernels: other machines only with a token."""
    port: int = Field(default=8765, ge=0, le=65535)
    """Of HTTP; 0 lets the system choose. Above 1024, so that nobody needs to be root."""
    token: SecretStr | None = None
    """Bearer token of HTTP clients. None on loopback: whoever is on this machine as this user may run code anyway."""
    allowed_hosts: tuple[str, ...] = ()
    """Further names by which HTTP clients reach this machine, e.g. behind a proxy. None: its own names are known."""

    auto_restore: bool = Rules.auto_restore
    guard_refuses: bool = Rules.guard_refuses
    failures_before_reflexion: int = Field(default=Rules.failures_before_reflexion, ge=1, le=1000)
    regression_threshold: float = Field(default=Rules.regression_threshold, gt=1)
    attempts_limit: int | None = Field(default=Rules.attempts_limit, ge=1)
    device_minutes_limit: float | None = Field(default=Rules.device_minutes_limit, gt=0)
    resolution: float = Field(default=Rules.resolution, ge=0, lt=1)
    confidence: float = Field(default=Rules.confidence, gt=0.5, lt=1)
    minimum_effect: float = Field(default=Rules.minimum_effect, ge=0, lt=1)
    rounds: Annotated[tuple[int, ...], AfterValidator(refuse_looks)] = Rules.rounds
    promising_rounds: int = Field(default=Rules.promising_rounds, ge=0, le=MOST_ROUNDS)
    confirming_rounds: int = Field(default=Rules.confirming_rounds, ge=1, le=MOST_ROUNDS)
    calibration_rounds: int = Field(default=Rules.calibration_rounds, ge=5, le=MOST_ROUNDS)
    calibration_days: float = Field(default=Rules.calibration_days, gt=0, le=3650)
    loaded_factor: float = Field(default=Rules.loaded_factor, ge=1, le=10)
    implausible_share: float = Field(default=Rules.implausible_share, gt=0, le=1)
    surprising_speedup: float = Field(default=Rules.surprising_speedup, gt=1)
    surprising_percent_of_bound: float = Field(default=Rules.surprising_percent_of_bound, ge=0)
    converged_percent_of_bound: float = Field(default=Rules.converged_percent_of_bound, gt=0)
    converged_attempts: int = Field(default=Rules.converged_attempts, ge=1)
    beam: int = Field(default=Rules.beam, ge=1)
    t_pos: float = Field(default=Rules.t_pos, gt=1)
    t_neg: float = Field(default=Rules.t_neg, gt=1)
    pairs: int = Field(default=Rules.pairs, ge=1)
    """The laboratory's rules, each argued in ``lab/rules.py``."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Command line, then environment, then the file. No .env: a project's own is not about us."""
        return init_settings, env_settings, _file(settings_cls, _place(init_settings))

    @property
    def rules(self) -> Rules:
        return Rules(**{field.name: getattr(self, field.name) for field in fields(Rules)})


def load(**given: Any) -> Settings:
    """The settings in force; `given` are those of the command line, None meaning not given.

    Raises ArgumentsInvalid, naming each setting that makes no sense.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        wrong = "; ".join(map(_said, error.errors()))
    except (SettingsError, ValueError) as error:
        wrong = str(error)
    raise ArgumentsInvalid(
        f"The settings make no sense: {wrong.rstrip('.?')}.", f"Correct {PREFIX}<NAME> in the environment, or {FILE}."
    )


def _said(item: ErrorDetails) -> str:
    name = ".".join(map(str, item["loc"]))
    if item["type"] != "extra_forbidden":
        said = item["msg"].removeprefix("Value error, ")
        return f"{name}: {said[:1].lower()}{said[1:]}"
    near = difflib.get_close_matches(name, Settings.model_fields, n=1)
    return f"there is no setting {name!r}" + (f", did you mean {near[0]!r}?" if near else "")


def _place(given: PydanticBaseSettingsSource) -> Path:
    """The file to read: named on the command line or in the environment, else the workspace's own."""
    values = given()
    named = values.get("config") or os.environ.get(f"{PREFIX}CONFIG")
    workspace = values.get("workspace") or os.environ.get(f"{PREFIX}WORKSPACE") or "."
    return Path(named) if named else Path(workspace) / FILE


def _file(model: type[BaseSettings], path: Path) -> PydanticBaseSettingsSource:
    return TomlConfigSettingsSource(model, toml_file=path)
