"""``corpus.toml``: what a person states of the kernels in a folder that they cannot say of themselves.

It stands in the folder or anywhere else; each ``[[kernel]]`` is one run of one kernel.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from nki_anvil.backends.errors import ArgumentsInvalid, PathUnreadable
from nki_anvil.sim.dtypes import NAMES
from nki_anvil.sim.versions import CURRENT, VERSIONS

FILE: Final = "corpus.toml"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Drawn(Strict):
    """An array argument: its shape and dtype, and what it holds."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    values: Literal["normal", "uniform", "integers", "range", "constant"] = "normal"
    low: float = 0.0
    """Lower bound of uniform values and of integers; the value itself of a constant."""
    high: float = 1.0
    """Upper bound; integers stay below it."""

    @field_validator("dtype")
    @classmethod
    def _known(cls, dtype: str) -> str:
        if dtype not in NAMES:
            raise ValueError(f"{dtype!r} is no dtype of the chip; known are {', '.join(NAMES)}")
        return dtype


class Computed(Strict):
    """An argument that Python computes: an expression over the file's own names, ``np`` and ``math``."""

    expression: str


Single: TypeAlias = bool | int | float | str | Drawn | Computed
Argument: TypeAlias = Single | list[Single]


class Stated(Strict):
    """One run of one kernel."""

    file: str
    """The kernel's file, from the corpus folder."""
    entry: str
    """The kernel's name in its file, dotted where it must be, or ``module:name`` of another."""
    name: str = ""
    """What the report calls it; default: the entry."""
    arguments: list[Argument] = []
    keywords: dict[str, Argument] = {}
    inputs: str = ""
    """Instead of both: ``module:function`` or an expression, for a tuple of arguments or a dictionary of named ones."""
    reference: str = ""
    """A function of the file, ``module:function``, or an expression over the kernel's parameters. Default: by name."""
    lnc: int = Field(default=0, ge=0, le=2)
    """Cores; 0 leaves it to the file."""
    version: str = ""
    """The NKI version that it is written for; default: that of the whole file."""
    tolerance: float | None = Field(default=None, ge=0)
    """Relative L2 error of each output; default by the coarsest dtype among inputs and outputs."""
    refused: str = ""
    """The code that the kernel is meant to be refused with."""
    seed: int = 0

    @model_validator(mode="after")
    def _one_way(self) -> Stated:
        if self.inputs and (self.arguments or self.keywords):
            raise ValueError("`inputs` stands instead of `arguments` and `keywords`")
        return self

    @property
    def label(self) -> str:
        return self.name or self.entry

    def request(self, version: str) -> dict[str, Any]:
        """What the kernel's process is told; ``version`` is that of the whole file."""
        told = self.model_dump(mode="json", exclude={"file", "name", "refused"})
        return {**told, "version": self.version or version}


class Sidecar(Strict):
    """A whole ``corpus.toml``."""

    roots: tuple[str, ...] = ()
    """Folders to import from, relative to the corpus folder or absolute; the folder itself always is one."""
    python: str = ""
    """The Python that runs the kernels, where references need packages that ours has not; default: our own."""
    version: str = CURRENT
    """The NKI version that kernels are written for."""
    kernel: tuple[Stated, ...] = ()

    @model_validator(mode="after")
    def _known(self) -> Sidecar:
        for version in {self.version, *(one.version for one in self.kernel if one.version)}:
            if version not in VERSIONS:
                raise ValueError(f"there is no NKI {version!r}; known are {', '.join(VERSIONS)}")
        return self


def read(path: Path | None, folder: Path) -> Sidecar:
    """The sidecar named, else the folder's own, else an empty one. Raises PathUnreadable or ArgumentsInvalid."""
    path = path or folder / FILE
    if path == folder / FILE and not path.exists():
        return Sidecar()
    try:
        return Sidecar.model_validate(_listed(tomllib.loads(path.read_text())))
    except OSError as error:
        raise PathUnreadable(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentsInvalid(f"{path} is no TOML: {error}.", "Correct it.") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ArgumentsInvalid(f"{path}: {place}: {first['msg']}.", "Correct it.") from error


def _listed(data: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(cast("list[Any]", one)) if isinstance(one, list) else one for name, one in data.items()}
