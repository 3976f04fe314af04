"""What a backend sends back: evidence, not judgement.

``run.json`` is this model; the outputs lie beside it in ``outputs.npz``. Everything in it comes from a process that has
read, or was started by one that has read, hostile text: it is parsed strictly and capped in size before it gets here.
"""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import NDArray
from pydantic import Field

from nki_anvil.backends.job import PROTOCOL, Record

Origin = Literal["device", "modelled"]
Severity = Literal["error", "warning", "off"]


class KernelError(Record):
    """Why a kernel could not be traced or executed, at the kernel's own line."""

    code: str
    """A rule's code, or the exception's class."""
    message: str
    line: int | None = None
    text: str = ""
    """The offending line as it stands in the kernel."""
    remedy: str = ""


class Finding(Record):
    """One machine rule that the program breaks, or nearly."""

    code: str
    severity: Severity
    message: str
    line: int | None = None
    text: str = ""
    remedy: str = ""
    count: int = 1
    """How many instructions break it in the same way at that line."""


class ArraySpec(Record):
    shape: tuple[int, ...]
    dtype: str


class Choice(Record):
    """A maximum, a minimum or a comparison of one line, and whether it could go one way throughout.

    ``way`` is 1 where its first operand always won, or it were always true, 2 where the second did, or it were false.
    It is 3 where its number were another one, that limits less.
    """

    line: int | None = None
    text: str = ""
    op: str
    against: float | None = None
    """The number that is its second operand, if one is."""
    standing: bool = False
    """The second operand is what stands in some places of a reduced axis whatever the inputs are."""
    way: Literal[1, 2, 3]
    met: bool
    """Some case carries it out, and its operands are not equal throughout."""
    taken: bool
    """Some case takes the other way."""
    part: str = ""
    """Which of that line's places it is, where a limit is needed in some and perhaps not in others."""
    outputs: tuple[int, ...] = ()
    """Those that what it gives reaches."""
    needed: tuple[int, ...] = ()
    """Outputs of which own draws come out otherwise, by more than anybody would let pass."""
    tried: bool = False
    """Cases that take the other way were made to go this one."""
    keys: tuple[str, ...] = ()
    """Under which there is what came of that, where it was other than before; with the case's key in front."""


class Trace(Record):
    """One shape set, traced twice in fresh kernel processes that saw no data."""

    shapes: str
    outcome: Literal["ok", "failed", "timeout", "exited", "malformed", "too_large"]
    error: KernelError | None = None
    digests: tuple[str, ...] = ()
    """Instruction digests of both traces; reproducible when equal."""
    entry: str | None = None
    outputs: tuple[ArraySpec, ...] = ()
    returned: tuple[int | None, ...] = ()
    """By output, the position among array arguments of the input that it is; None where it is the kernel's own."""
    instructions: int = 0
    constant_bytes: int = 0
    unordered: bool = False
    """Whether it has loops whose iterations run in any order: then the cases in other orders are run as well."""
    left_out: tuple[str, ...] = ()
    """Module-level statements that were not executed, each with its line."""
    printed: str = ""
    findings: tuple[Finding, ...] = ()
    choices: tuple[Choice, ...] = ()
    artefact: str = ""
    """SHA-256 of what a device's compiler made of it, normalised; empty where nothing is compiled."""
    unknown: str = ""
    """Of a device: what the embedded simulator does not know of the kernel. Then there is no program here to judge."""


class CaseResult(Record):
    """One case, executed. ``outputs`` and ``mutated`` hold arrays and are not part of ``run.json``."""

    key: str
    inputs_digest: str
    error: KernelError | None = None
    findings: tuple[Finding, ...] = ()
    """Rules that only values can break: uninitialised output, an index out of bounds, an activation's range."""
    mutated: tuple[str, ...] = ()
    """Inputs to which the program writes; on a device without a program, those whose content changed."""
    trips: dict[str, int] = Field(default_factory=dict)
    """Trip counts of dynamic loops."""
    ran_exactly: bool = False
    """Once more with every float in float64."""
    exact_error: KernelError | None = None
    """What failed there alone."""
    inexact: str = ""
    """Why the program has no meaning there."""
    unlike: bool = False
    """Of such a program: it gives something else where fresh memory holds the other pattern."""
    outputs: tuple[NDArray[Any], ...] = Field(default=(), exclude=True, repr=False)
    exact: tuple[NDArray[Any], ...] = Field(default=(), exclude=True, repr=False)
    """The outputs with every float in float64."""


class Gap(Record):
    """Time that is lost to one cause."""

    name: str
    cost_us: float
    lines: tuple[int, ...] = ()
    advice: str = ""


class EngineTime(Record):
    engine: str
    busy_us: float
    share: float
    """Of the latency, 0 to 1."""
    instructions: int = 0


class Profile(Record):
    """Where the time goes, at one shape set."""

    shapes: str
    origin: Origin
    latency_us: float
    latency_low_us: float | None = None
    latency_high_us: float | None = None
    floor_us: float = 0.0
    """No execution of this program can be faster: its bytes over the DMA peak, its engine cycles, the larger."""
    bound_by: Literal["memory", "compute", "pipeline", "underutilized"] = "underutilized"
    busiest: str = ""
    engines: tuple[EngineTime, ...] = ()
    metrics: dict[str, float] = Field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    extra: dict[str, float] = Field(default_factory=dict)
    artefact: str = ""
    """Of what was profiled, as ``Trace.artefact``."""
    constants: str = ""
    """Of a modelled profile: the host that the model's constants were fitted to; empty: published constants."""
    timeline: str = Field(default="", repr=False)
    """Trace-event JSON, empty unless the purpose is ``profile``; kept in ``timeline.<shapes>.json``."""


class Samples(Record):
    """Timed runs of one arm in one fresh process."""

    us: tuple[float, ...]
    timer: str
    """How it was measured: ``model``, ``nrtpy``, ``neuron-explorer`` ..."""
    warmups: int = 0
    artefact: str = ""
    """Of what was timed, as ``Trace.artefact``."""


class Ended(Record):
    """How a person's command ended and what it left; nobody has looked into it yet."""

    status: int | None
    """Exit status, negative for a signal; None: it took too long and was ended."""
    printed: str = ""
    """The end of its standard output."""
    complained: str = ""
    """The end of its standard error, where Python reports on the kernel in words that are the kernel's."""
    result: str | None = None
    """Its result file; None where there is none, or too much of it."""


class Run(Record):
    """The evidence of one job."""

    protocol: int = PROTOCOL
    job: str
    """Digest of the job."""
    backend: str
    origin: Origin
    toolchain: str
    """SDK version, or the simulator's own; part of the verdict key."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Versions and flags by name. Of a device besides: ``host``, ``core``, ``boot`` (changes when it is started again)
    and ``other_load`` (what else ran there; empty or absent: nothing)."""
    traces: tuple[Trace, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    profiles: tuple[Profile, ...] = ()
    samples: Samples | None = None
    ended: Ended | None = None
    """For the purpose ``command``."""
    failure: str | None = None
    """What went wrong on the machine itself; a run with a failure is no evidence of anything."""
    seconds: dict[str, float] = Field(default_factory=dict)
    """Wall-clock seconds per stage: trace, check, execute ..."""
