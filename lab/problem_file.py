"""``problem.toml`` as a model: what may stand in it, and one clear sentence for whatever may not."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from nki_anvil.backends.errors import PathUnreadable, ProblemInvalid
from nki_anvil.backends.job import Domain, Order
from nki_anvil.lab.rules import MOST_ROUNDS
from nki_anvil.lab.specification import Precision
from nki_anvil.sim.dtypes import NAMES

NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
"""Of problems and shape sets, whose records lie in files and folders of these names."""
_RANGE = re.compile(r"integer\s*\[([^\[\],]+),([^\[\],]+)\]")
_INDEX = re.compile(r"index\s+of\s+(?:input\s+)?(\w+)")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class InputEntry(Strict):
    """One ``[inputs.<name>]`` table."""

    shape: tuple[int | str, ...] | None = None
    dtype: str | None = None
    domain: Domain = "real"
    low: str | float | None = None
    high: str | float | None = None
    """Like a shape's, numbers or expressions over the dimensions: lengths go as far as each shape set's."""
    of: str | None = None
    """For ``index``: the input that is indexed; ``axis`` says along which of its axes."""
    axis: int = 0
    value: float | None = None
    sigma: float | None = Field(default=None, gt=0)
    mean: float | None = None
    order: Order | Literal["any"] | None = None
    """Along the last axis, of every case; None: as ``get_inputs`` draws it, if it always draws it in one."""
    static: bool = False
    mutable: bool = False
    offset: float = Field(default=3.0, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _domain_in_words(cls, data: Any) -> Any:
        """``integer [0, 7]`` and ``index of table`` spell the domain and its range in one."""
        if not isinstance(data, dict):
            return data  # pyright: ignore[reportUnknownVariableType]
        table = cast("dict[str, Any]", data)
        text = str(table.get("domain", ""))
        if found := _RANGE.fullmatch(text):
            return {**table, "domain": "integer", "low": found[1].strip(), "high": found[2].strip()}
        if found := _INDEX.fullmatch(text):
            return {**table, "domain": "index", "of": found[1]}
        return table

    @model_validator(mode="after")
    def _complete(self) -> InputEntry:
        if self.shape is None and self.value is None:
            raise ValueError("it needs a shape, or a value for a scalar")
        if self.domain == "constant" and self.value is None:
            raise ValueError("a constant needs a value")
        if self.domain == "integer" and (self.low is None or self.high is None):
            raise ValueError("an integer needs low and high")
        if self.domain == "index" and self.high is None and self.of is None:
            raise ValueError("an index needs the input it indexes (of) or high")
        if self.order is not None and not self.shape:
            raise ValueError(f'order = "{self.order}" is along the last axis, which it does not have')
        return self

    def is_untold(self, dtype: str) -> bool:
        """Whether nothing but draws tells which integers an array holds; ``dtype`` is that of the draws."""
        return self.shape is not None and self.domain == "real" and "int" in (self.dtype or dtype)

    @field_validator("dtype")
    @classmethod
    def _known(cls, dtype: str | None) -> str | None:
        if dtype is not None and dtype not in (*NAMES, "float", "int"):
            raise ValueError(f"{dtype!r} is no Trainium dtype; there are {', '.join(NAMES)}")
        return dtype


class WorkEntry(Strict):
    bytes: str | float | None = None
    matmul_flops: str | float | None = None
    vector_flops: str | float | None = None


class EndToEndEntry(Strict):
    """The ``[e2e]`` table: a command whose own figures are judged."""

    command: str = Field(min_length=1)
    result: str = "result.json"
    accuracy_min: float | None = Field(default=None, ge=0)
    patterns: dict[Literal["latency_ms", "throughput", "accuracy", "nki_flops_share"], str] = {}
    files: tuple[str, ...] = ()
    """Patterns of what is sent along, in the problem's folder."""
    cores: int = Field(default=1, ge=1, le=128)
    seconds: float = Field(default=3600.0, gt=0, le=86400)
    """One run: a model takes minutes to compile and load."""
    language: bool = True
    calibration_rounds: int = Field(default=5, ge=5, le=MOST_ROUNDS)
    """Of the A/A run. Each is the whole command twice, so that a kernel's 25 would take hours."""

    @field_validator("result")
    @classmethod
    def _inside(cls, path: str) -> str:
        if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise ValueError(f"{path!r} is no path inside the folder in which the command runs")
        return path

    @field_validator("patterns")
    @classmethod
    def _readable(cls, patterns: dict[str, str]) -> dict[str, str]:
        for name, pattern in patterns.items():
            try:
                groups = re.compile(pattern).groups
            except re.error as error:
                raise ValueError(f"{name} is no regular expression: {error}") from error
            if groups != 1:
                raise ValueError(f"{name} needs one group, around the number, and {pattern!r} has {groups}")
        return patterns


class ProblemFile(Strict):
    """A whole ``problem.toml``; every default is the one of the format."""

    name: str | None = Field(default=None, pattern=NAME)
    entry: str | None = None
    reference: str = "reference.py"
    kernel: str = "kernel.py"
    chip: str = "trn2"
    lnc: Literal[1, 2] = 1
    nki_version: Literal["0.2", "0.3", "0.4", "0.5", "0.6", "0.7"] = "0.7"
    precision: Precision = "float32"
    tolerance: float | None = Field(default=None, gt=0, lt=1)
    stochastic: bool = False
    data_loops: bool = False
    verify: tuple[str, ...] = ("default",)
    timed: str = "default"
    dims: dict[str, int] = {}
    shapes: dict[str, dict[str, int]] = {}
    inputs: dict[str, InputEntry] = {}
    work: WorkEntry = WorkEntry()
    e2e: EndToEndEntry | None = None

    @model_validator(mode="after")
    def _consistent(self) -> ProblemFile:
        for role, named in (("verify", self.verify), ("timed", (self.timed,))):
            if missing := [name for name in named if name not in ("default", *self.shapes)]:
                raise ValueError(f"{role} names the shape set {missing[0]!r}; there are {['default', *self.shapes]}")
        if self.e2e is not None and (self.inputs or "reference" in self.model_fields_set):
            raise ValueError("a problem is a command ([e2e]) or a reference with inputs, not both")
        for name, dims in self.shapes.items():
            if not re.fullmatch(NAME, name):
                raise ValueError(f"shapes.{name} is no name: letters and digits, then '.', '_' and '-' as well")
            if unknown := sorted(set(dims) - set(self.dims)):
                raise ValueError(f"shapes.{name} sets {unknown[0]!r}, which is not among the dims {sorted(self.dims)}")
        return self

    def dimensions(self) -> dict[str, dict[str, int]]:
        """Dimensions by shape set; a named set changes what it names of the default."""
        return {"default": self.dims, **{name: {**self.dims, **dims} for name, dims in self.shapes.items()}}


_READABLE = "Check the path and its permissions."


def read(path: Path) -> ProblemFile:
    """Read and check a ``problem.toml``; raises PathUnreadable or ProblemInvalid with the field and what is wrong."""
    return understand(content(path), path)


def declaring(path: Path) -> Path:
    """The folder of a module that is the reference of a problem.toml beside it; any other path as it is.

    Raises PathUnreadable and ProblemInvalid for a problem.toml that cannot be read.
    """
    beside = path.with_name("problem.toml")
    if path.suffix != ".py" or not path.is_file() or not beside.is_file():
        return path
    file = read(beside)
    named = file.e2e is None and (path.parent / file.reference).resolve() == path.resolve()
    return path.parent if named else path


def content(path: Path) -> bytes:
    """Raises PathUnreadable."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise PathUnreadable(f"{path} cannot be read: {error}.", _READABLE) from error


def understand(content: bytes, path: Path) -> ProblemFile:
    """What was read from there; raises as ``read``."""
    try:
        data = tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise PathUnreadable(f"{path} cannot be read: {error}.", _READABLE) from error
    except tomllib.TOMLDecodeError as error:
        raise ProblemInvalid(
            f"{path.name} is not TOML: {error}.", "Correct that line and open the problem again."
        ) from error
    try:
        return ProblemFile.model_validate(data)
    except ValidationError as error:
        raise ProblemInvalid(f"{path.name}: {_sentence(error)}.", "Correct it and open the problem again.") from error


def _sentence(error: ValidationError) -> str:
    """The first mistake in words: where it stands, what it is, and which fields there are when it is an unknown one."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{where} is not a field of this format"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
