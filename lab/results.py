"""What every operation of the laboratory answers: one frozen record each, with the fields of the tool that shows it.

They hold facts and units and must not know how anything is worded for a person or wired to a protocol. The operations::

    opening.open_problem(lab, reference, *, kernel_path, name, tolerance, chip, backend, report) -> Opened
    profiling.profile_kernel(lab, problem, *, kernel_path, source, compare_to, report) -> Profiled
    verifying.verify_kernel(lab, problem, *, kernel_path, source, parent, plan, shown_id, report) -> Verified
    benchmarking.benchmark_kernel(lab, problem, *, kernel_path, source, parent, plan, shown_id, report) -> Benchmarked
    evaluating.evaluate_candidates(lab, problem, kernels, *, shown_id, limit, report) -> Evaluated
    reverting.revert_to_best(lab, problem, *, report) -> Reverted
    reflecting.record_reflexion(lab, problem, attempt, *, diagnosis, change, expected, expected_speedup, lesson,
                                avoid, try_next, report) -> Reflected
    status.problem_status(lab, problem, *, report) -> Status
    finishing.finish_problem(lab, problem, *, report) -> Finished

Each is async, takes its optional arguments by keyword, and raises only the errors of ``backends.errors``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nki_anvil.backends.run import EngineTime, Gap, Origin
from nki_anvil.lab.figures import Score
from nki_anvil.lab.progress import Progress
from nki_anvil.lab.verdict import GateResult, Where

Outcome = Literal["keep", "revert", "undecided"]


@dataclass(frozen=True, kw_only=True)
class GuardView:
    """What the divergence guard thinks, and what it asks for next."""

    state: Literal["open", "closed"]
    failures: float
    """Counted since the last keep or reflexion; a failure at gates 1 to 3 is one third."""
    allowed: int
    """At this many it closes."""
    attempt: int | None = None
    """The attempt that closed it: ``record_reflexion`` for it opens the guard."""
    asks: str = ""


@dataclass(frozen=True, kw_only=True)
class BudgetView:
    """None as a limit: unlimited."""

    attempts_used: int
    attempts_limit: int | None
    device_minutes_used: float
    device_minutes_limit: float | None


@dataclass(frozen=True, kw_only=True)
class QueueLine:
    """Jobs of one problem."""

    problem: str
    running: int
    waiting: int
    clients: int


@dataclass(frozen=True, kw_only=True)
class QueueView:
    """Jobs on a problem's backend, of all clients and all servers of this machine."""

    cores: int
    running: int
    waiting: int
    position: int | None
    """Of this problem's next job among those that wait; 1 is next. None: it has none waiting."""
    problems: tuple[QueueLine, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Baseline:
    digest: str
    latency_us: float
    percent_of_peak: float | None
    percent_of_bound: float | None
    attempt: int = 0


@dataclass(frozen=True, kw_only=True)
class Peak:
    """AccelOpt's T of the problem at its timed shape, and the work it is made from; None where the work is unknown."""

    time_us: float | None
    bytes: float | None
    matmul_flops: float | None
    vector_flops: float | None


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The problem's physical lower bound at its timed shape."""

    time_us: float | None
    bound_by: str


@dataclass(frozen=True, kw_only=True)
class Opened:
    problem: str
    kernel_path: str
    chip: str
    backend: str
    origin: Origin
    baseline: Baseline | None
    baseline_reason: str
    """Why there is no baseline; empty when there is one."""
    peak: Peak
    bound: Bound
    tolerance: float
    resumed: bool
    working_file: str
    """What is known of it, as in ``Status``."""
    held: str | None
    """Digest of the text in it; None where there is none."""
    warnings: tuple[str, ...] = ()
    fallen: tuple[int, ...] = ()
    """Attempts that were kept before the baseline and have failed since."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A profile against another kernel's: positive ``speedup`` - 1 means that this kernel is faster."""

    compared_to: str
    """Digest."""
    speedup: float
    latency_us: float
    """Of the other kernel."""
    metrics: dict[str, tuple[float, float]]
    """(other, this), only those that changed."""
    engines_us: dict[str, float]
    """Change of busy time, this minus other."""
    gaps_us: dict[str, float]
    """Change of cost, this minus other."""


@dataclass(frozen=True, kw_only=True)
class Profiled:
    digest: str
    origin: Origin
    verified: bool
    latency_us: float
    latency_low_us: float | None
    latency_high_us: float | None
    bound_by: str
    busiest: str
    percent_of_peak: float | None
    percent_of_bound: float | None
    metrics: dict[str, float]
    engines: tuple[EngineTime, ...]
    gaps: tuple[Gap, ...]
    difference: Difference | None
    timeline: str
    """URI."""
    picture: str | None
    """An SVG picture of the engines over time, for a person; None where there is no timeline."""
    extra: dict[str, float]
    constants: str = ""
    """Of a modelled profile: the host that the model's constants were fitted to; empty: published constants."""


@dataclass(frozen=True, kw_only=True)
class Verified:
    passed: bool
    digest: str
    attempt: int
    repeated: bool
    gates: tuple[GateResult, ...]
    worst_error: float | None
    tolerance: float
    where: Where | None
    hint: str
    origin: Origin
    guard: GuardView
    same_as: int | None = None
    """An earlier attempt with the same instructions, whose benchmark this one takes."""
    restored: str | None = None
    """The working file, where this failure closed the guard and best was put back."""
    has_best: bool = True
    """Whether there is a kernel to go back to."""
    heat_map: str | None = None
    """An SVG picture of where a wrong output is wrong, for a person."""
    unjudged: tuple[str, ...] = ()
    """Those of the warnings that tell what the kernel does and no case shows."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Benchmarked:
    outcome: Outcome
    digest: str
    attempt: int
    repeated: bool
    speedup: float | None
    """Against best; None for the first kernel that passed, which becomes baseline and best."""
    speedup_low: float | None
    speedup_high: float | None
    speedup_vs_baseline: float | None
    latency_us: float
    best_latency_us: float | None
    """Of the best it was compared with, measured in the same call."""
    percent_of_peak: float | None
    origin: Origin
    rounds: int
    flags: tuple[str, ...]
    best_digest: str
    """After this call."""
    restored: str | None
    guard: GuardView
    against: str | None = None
    """Digest of the best it was compared with."""
    same_as: int | None = None
    score: Score | None = None
    """Of an end-to-end problem, against best: what decided."""
    converged: str = ""
    """Why the problem looks finished; empty while it does not."""
    fallen: tuple[int, ...] = ()
    """Attempts that were kept before the baseline and have failed since."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One kernel to evaluate: a path, or a source if it contains a newline."""

    kernel: str
    parent: str | None = None
    plan: str | None = None


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """One evaluated candidate."""

    digest: str
    """Shortened."""
    attempt: int | None
    """None where the kernel could not even be read."""
    passed: bool
    outcome: Outcome | None
    """None where it did not pass."""
    speedup: float | None
    error: str
    repeated: bool = False
    same_as: int | None = None


@dataclass(frozen=True, kw_only=True)
class Beamed:
    """One kernel to expand next."""

    digest: str
    attempt: int
    speedup: float
    """Against best."""


@dataclass(frozen=True, kw_only=True)
class ExperienceCandidate:
    """A slow-to-fast pair worth an ``add_experience``; the numbers come from the attempts."""

    kind: Literal["positive", "negative"]
    slow_digest: str
    fast_digest: str
    attempt: int
    """The child: the attempt to name."""
    parent: str
    plan: str | None
    speedup: float
    """Of fast over slow, above 1."""


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    candidates: tuple[Ranked, ...]
    counts: dict[str, int]
    all: str
    """URI."""
    beam: tuple[Beamed, ...]
    experience_candidates: tuple[ExperienceCandidate, ...]
    origin: Origin
    best_digest: str | None
    guard: GuardView
    restored: str | None = None
    """The working file, where this step closed the guard and best was put back."""
    tried: tuple[int, ...] = ()
    """Every attempt of the call, also those that are not listed."""
    judged: tuple[str, ...] = ()
    """Digests of the same."""
    right: tuple[str, ...] = ()
    """Digests of those that passed."""


@dataclass(frozen=True, kw_only=True)
class Reverted:
    kernel_path: str
    best_digest: str
    saved_attempt: int | None
    """Where the text that was in the file is kept; None where the file was gone."""
    changed: bool
    """False where the file already held best."""
    verified: bool
    """Whether best has passed under today's simulator, or SDK, and gates."""


@dataclass(frozen=True, kw_only=True)
class Reflected:
    reflexion: str
    """Id, ``<problem>/<attempt>``."""
    attempt: int
    outcome: str
    """``keep``, ``revert``, ``undecided``, ``failed`` (with the gate in ``gate``) or ``unjudged``."""
    gate: str | None
    speedup: float | None
    was_expected: bool | None
    guard: GuardView


@dataclass(frozen=True, kw_only=True)
class AttemptLine:
    """One attempt in a list."""

    attempt: int
    digest: str
    """Shortened."""
    passed: bool | None
    failed_gate: str | None
    outcome: Outcome | None
    speedup: float | None
    latency_us: float | None
    parent: str | None
    plan: str | None
    same_as: int | None
    reflected: bool
    at: str
    """ISO 8601, UTC."""


@dataclass(frozen=True, kw_only=True)
class ReflexionLine:
    attempt: int
    lesson: str
    avoid: str
    try_next: str
    outcome: str
    speedup: float | None


@dataclass(frozen=True, kw_only=True)
class BestLine:
    digest: str
    attempt: int
    latency_us: float
    speedup_vs_baseline: float | None
    percent_of_peak: float | None
    percent_of_bound: float | None
    verified: bool | None
    """Whether it has passed under today's simulator, or SDK, and gates; None where its backend cannot be asked."""


@dataclass(frozen=True, kw_only=True)
class OriginStatus:
    """Best and guard of one origin."""

    origin: Origin
    best: BestLine | None
    baseline: Baseline | None
    guard: GuardView


@dataclass(frozen=True, kw_only=True)
class Status:
    problem: str
    kernel_path: str
    backend: str
    origin: Origin
    best: BestLine | None
    baseline: Baseline | None
    percent_of_peak: float | None
    percent_of_bound: float | None
    attempts: tuple[AttemptLine, ...]
    """The last ten, oldest first."""
    guard: GuardView
    reflexions: tuple[ReflexionLine, ...]
    """The last three, oldest first."""
    budget: BudgetView
    queue: QueueView
    progress: Progress
    converged: str
    """Why ``finish_problem`` is recommended; empty while it is not."""
    working_file: Literal["best", "verified", "failed", "unverified", "missing"]
    origins: tuple[OriginStatus, ...]
    """Every origin that has state, this one too."""
    fallen: tuple[int, ...] = ()
    """Attempts that were kept before the baseline and have failed since."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    problem: str
    origin: Origin
    best_digest: str | None
    baseline_digest: str | None
    speedup: float | None
    """Best over the baseline, measured anew; None without a kernel that passed."""
    speedup_low: float | None
    speedup_high: float | None
    latency_us: float | None
    baseline_latency_us: float | None
    percent_of_peak: float | None
    percent_of_bound: float | None
    rounds: int
    flags: tuple[str, ...]
    attempts: int
    kept: int
    report: str
    """URI."""
    report_path: str
    score: Score | None = None
    """Of an end-to-end problem, with the baseline as the reference."""
    evidence: str | None = None
    """Seal of the evidence file, with which anybody can tell that theirs is the same."""
    evidence_path: str | None = None
    fallen: tuple[int, ...] = ()
    """Attempts that were kept before the baseline and have failed since."""
    deposed: int | None = None
    """The attempt that was best when the claim was asked for, where it failed on cases drawn for it alone."""
    unjudged: tuple[str, ...] = ()
    """What the best kernel does that shows in no case."""
    faults: tuple[str, ...] = ()
    """What an audit finds in the problem's records, of which the claim is the last."""
