"""What is sent to a backend: one kernel, the shapes it is specialised to, and the cases it is run on.

``job.json`` is this model without the kernel's text and what is uploaded, which lie beside it as ``kernel.py`` and
``inputs.npz`` or ``files.tar``. A job knows nothing of references, tolerances or expected outputs: what runs it judges
nothing.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

PROTOCOL = 1

Purpose = Literal["trace", "verify", "benchmark", "profile", "command"]
Domain = Literal["real", "nonnegative", "positive", "unit", "probability", "integer", "index", "constant"]
Order = Literal[
    "ascending", "ascending from low", "ascending to high", "ascending from low to high", "permutation", "distinct"
]


class Record(BaseModel):
    """Base of what crosses the process boundary: immutable, and unknown fields are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, ser_json_inf_nan="strings")


class InputSpec(Record):
    """One argument of the kernel at one shape set, and what values it may hold."""

    name: str
    shape: tuple[int, ...] | None = None
    """None for a Python scalar, which the kernel process is told."""
    drawn: tuple[int, ...] | None = None
    """The shape in which values are drawn before a declared transform reshapes them to ``shape``."""
    dtype: str = "float32"
    """A Trainium name (``sim.dtypes``); ``float`` or ``int`` for a Python scalar."""
    domain: Domain = "real"
    low: float | None = None
    high: float | None = None
    value: float | None = None
    sigma: float = 1.0
    """Standard deviation of the problem's own draws of a real input."""
    mean: float = 0.0
    offset: float = 3.0
    """Largest \\|mean\\| / sigma that a family may give it."""
    marks: tuple[int | float, ...] = ()
    """Numbers in its range that mean something to the problem (``lab/marks.py``): integers of an integer."""
    steps: tuple[int, ...] = ()
    """Of an integer, such numbers by which two of it may differ, wherever its range begins; none is below one."""
    zero_or_one: bool = False
    """Floats of which the problem's own draws hold nothing but these two: labels, or a mask."""
    order: Order | None = None
    """What rows along the last axis, as they are drawn, are in every case: ascending, from ``low`` on or up to ``high``
    where that is said, a permutation of all integers from ``low`` to ``high``, or integers of which none comes twice;
    where that axis has one place, in all of the input."""
    static: bool = False
    mutable: bool = False


class Probe(Record):
    """One element of one input, overwritten after the draw (gate ``sensitivity``)."""

    input: str
    index: int
    """Flat, row-major."""
    value: float


class Case(Record):
    """One set of input values, by seed and family: drawn where it is run, with the same generator everywhere."""

    key: str
    """Unique in the job; names the outputs in ``outputs.npz`` as ``<key>/<position>``."""
    shapes: str = "default"
    seed: int
    family: str = "own"
    only: str | None = None
    """The one input that the family transforms; None: all of them."""
    gathered: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """By input the axes over which one output gathers it, as far as the reference told."""
    scale: float = 1.0
    """What the family's magnitude is multiplied by (halved until honest runs are finite)."""
    probes: tuple[Probe, ...] = ()
    poison: int = 0
    """Which bit pattern fresh memory holds: 0 or 1. Two runs that differ in it must agree."""
    lot: int = 0
    """Not 0: a simulator draws what the documents leave open on a chip by this number, each choice by itself; else all
    go the way that the poison says."""
    again: bool = False
    """It has run before, so that a random generator which nothing seeds goes on, as on a chip."""
    order: Literal["", "backwards", "abreast", "together", "shuffled"] = ""
    """Of loops without an order: from the last iteration to the first, several at a time, all, or by the seed of the
    first such case. Where a program has no such loops, the case is left out."""
    exact: bool = False
    """It is run once more with every float in float64 and the other poison, where a simulator runs it."""
    moved: int = 0
    """Not 0: there, constants of the program that float32 rounds are off by a rounding, otherwise for each number."""
    uploaded: bool = False
    """The inputs are in ``inputs.npz`` as ``<key>/<input name>`` instead of being drawn."""


class ShapeSet(Record):
    """The kernel's arguments, in order, at one set of dimensions."""

    name: str
    inputs: tuple[InputSpec, ...]


class Limits(Record):
    """What a kernel may use up. Defaults: generous for the seeds at NKIBench's shapes, harmless for the machine."""

    trace_s: float = 60.0
    execute_s: float = 300.0
    memory_bytes: int = 8 << 30
    """Address space of the kernel process; tracing allocates no tensors."""
    program_bytes: int = 256 << 20
    output_bytes: int = 4 << 30
    printed_bytes: int = 64 << 10
    processes: int = 64


class Command(Record):
    """A person's own command, run in a fresh folder that holds the kernel's text and these files."""

    line: str
    """For the host's shell."""
    kernel: str
    """Where in the folder the kernel's text lies."""
    result: str
    """The file in which the command may leave its figures."""
    files: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of what else lies there, by path."""
    cores: int = 1
    """Logical ones, which the command has for itself."""
    seconds: float = 3600.0


class Job(Record):
    """One unit of work for a backend. Equal digests mean the same work, but benchmark rounds are never shared."""

    protocol: int = PROTOCOL
    purpose: Purpose
    kernel_digest: str
    entry: str | None = None
    """The function; None: ``kernel``, else ``optimized_kernel``, else the only jitted one."""
    chip: str = "trn2"
    version: str = "0.7"
    lnc: Literal[1, 2] = 1
    shape_sets: tuple[ShapeSet, ...]
    cases: tuple[Case, ...] = ()
    choices: bool = False
    """Whether to look for what the kernel does and no case shows."""
    round: int = 0
    arm: Literal["new", "best", "only"] = "only"
    limits: Limits = Limits()
    command: Command | None = None
    """What is run instead of cases, for the purpose ``command``; then there are no shape sets."""
    core: str = Field(default="", exclude=True)
    """Where the comparison runs, as ``Run.environment["core"]`` last said: to be used again. Not in the digest."""
    kernel: str = Field(exclude=True, repr=False)
    uploads: dict[str, NDArray[Any]] = Field(default_factory=dict, exclude=True, repr=False)
    files: dict[str, bytes] = Field(default_factory=dict, exclude=True, repr=False)
    """The content of ``command.files``."""

    @property
    def timed(self) -> bool:
        """Whether it is one arm of a comparison: all of that belong on one machine, and no run is shared."""
        return self.purpose == "benchmark" or (self.purpose == "command" and self.round >= 0)

    def digest(self) -> str:
        """SHA-256 of ``job.json`` and the kernel's text; names the job's folder."""
        sha = hashlib.sha256(self.model_dump_json().encode())
        sha.update(self.kernel.encode())
        return sha.hexdigest()
