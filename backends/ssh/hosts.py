"""Which machines there are and how each is to be used: data from the settings, nothing that opens a connection."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from nki_anvil.backends.errors import ArgumentsInvalid

_SIMULATE = "simulate:"
_ADDRESS = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?P<host>\[[0-9a-fA-F:]+\]|[^:@\s]+)(?::(?P<port>\d{1,5}))?")


class HostSettings(BaseModel):
    """What is known of one host beside its address: a table ``[remote.<host>]`` of the settings file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    python: str | None = None
    """Python with the SDK, e.g. ``/opt/aws_neuronx_venv_pytorch/bin/python``. None: searched for where the vendor's
    images keep them."""
    nrtpy_python: str | None = None
    """Python with nrtpy, which cannot share an environment with nki."""
    tools: str | None = None
    """Folder of neuron-ls and neuron-explorer; None: ``/opt/aws/neuron/bin`` and the PATH."""
    cores: tuple[int, ...] | None = None
    """Physical cores that may be used; None: all that neuron-ls lists."""
    root: str = "~/.nki-anvil"
    """Where the worker, its jobs and compiled kernels lie on the host."""
    leases: str | None = None
    """Folder of the locks that keep cores apart. None: the one that all users of a host share."""
    config: str | None = None
    """Another SSH configuration than ``~/.ssh/config``."""
    compile_s: float = Field(default=900.0, gt=0)
    """Large kernels take minutes to compile, and a compiler that hangs must not take a day."""
    run_s: float = Field(default=120.0, gt=0)
    """One run of a kernel takes milliseconds; the first also loads it."""
    profile_s: float = Field(default=300.0, gt=0)
    """Capturing is quick, reading a long trace is not."""
    lease_s: float = Field(default=600.0, ge=0)
    """How long a job waits for a free core before the host counts as busy."""
    grace_s: float = Field(default=600.0, gt=0)
    """How long a job goes on that nobody attends: a laptop may wake up, and a core shall not be lost for a day."""
    patience_s: float = Field(default=180.0, ge=0)
    """How long a lost connection is tried again before a call fails."""
    warmups: int = Field(default=5, ge=0)
    iterations: int = Field(default=20, ge=1)
    """Timed runs of one process: the scatter inside a process is small, so that few are enough."""


@dataclass(frozen=True)
class Host:
    """One machine. ``name`` is what the user calls it; an SSH configuration may say the rest."""

    name: str
    address: str
    user: str | None
    port: int | None
    simulate: bool
    settings: HostSettings


def parse(listed: str, settings: dict[str, HostSettings]) -> list[Host]:
    """``[simulate:]user@host[:port]`` or names of an SSH configuration, with commas between; else ArgumentsInvalid."""
    return [_one(part.strip(), settings) for part in listed.split(",") if part.strip()]


def _one(text: str, settings: dict[str, HostSettings]) -> Host:
    name = text.removeprefix(_SIMULATE)
    found = _ADDRESS.fullmatch(name)
    if found is None:
        raise ArgumentsInvalid(f"{text!r} names no host.", "Write [simulate:]user@host[:port], with commas between.")
    port = int(found["port"]) if found["port"] else None
    own = settings.get(name) or settings.get(found["host"]) or HostSettings()
    return Host(name, found["host"].strip("[]"), found["user"], port, text.startswith(_SIMULATE), own)
