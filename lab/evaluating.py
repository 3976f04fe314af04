"""``evaluate_candidates``: verify and rank many kernels at once, keep at most one, and say which to expand next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio
from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import AnvilError, ArgumentsInvalid, BudgetSpent
from nki_anvil.lab import beam, given, guard, links, state
from nki_anvil.lab.attempts import Attempt
from nki_anvil.lab.beam import Entry
from nki_anvil.lab.benchmarking import known_comparison
from nki_anvil.lab.best import Holder
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.contest import arm_of, contest, sampler, store
from nki_anvil.lab.digest import shorten
from nki_anvil.lab.judging import judge
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.opening import why_not
from nki_anvil.lab.pairs import Child, worth_a_lesson
from nki_anvil.lab.results import Beamed, Candidate, Evaluated, ExperienceCandidate, Outcome, Ranked
from nki_anvil.lab.sampling import Sampler
from nki_anvil.lab.timing import Arm
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.workbench import Workbench, workbench

MOST = 256


@dataclass(frozen=True)
class Entrant:
    """One candidate on its way through the call."""

    attempt: Attempt | None = None
    is_working_file: bool = False
    repeated: bool = False
    error: str = ""
    verdict: Verdict | None = None
    screened: float | None = None
    """Speedup over best by one paired round."""
    comparison: Comparison | None = None

    @property
    def number(self) -> int:
        """Of its attempt; only asked of one that has one."""
        return self.attempt.number if self.attempt else -1

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.passed

    @property
    def speedup(self) -> float | None:
        known = self.comparison.speedup if self.comparison else None
        return known if known is not None else self.screened

    @property
    def is_progress(self) -> bool:
        """Kept, and not just an earlier keep in other words."""
        return self.outcome == "keep" and self.comparison is not None and self.comparison.same_as is None

    @property
    def outcome(self) -> Outcome | None:
        if not self.passed:
            return None
        return self.comparison.outcome if self.comparison else "undecided"


async def evaluate_candidates(
    lab: Laboratory,
    problem: str,
    kernels: Sequence[str | Candidate],
    *,
    shown_id: str | None = None,
    limit: int = 12,
    report: Report = silent,
) -> Evaluated:
    """Judge 1 to 256 kernels as one step. The fastest that is surely faster than best becomes best.

    Every text is stored first; one that cannot be read is an entry with its error, not the end of the call. Raises
    ReflexionRequired, BudgetSpent, ArgumentsInvalid, and the errors of problems and backends.
    """
    if not 1 <= len(kernels) <= MOST:
        raise ArgumentsInvalid(f"{len(kernels)} kernels were given.", f"Give 1 to {MOST}.")
    wanted = [Candidate(kernel=kernel) if isinstance(kernel, str) else kernel for kernel in kernels]
    bench, entrants = await run_sync(partial(_admit, lab, problem, wanted, shown_id))
    entrants = await _verify(bench, entrants, report)
    entrants = await _compare(bench, entrants, report)
    return await run_sync(partial(_conclude, bench, entrants, limit))


def _admit(
    lab: Laboratory, problem: str, wanted: list[Candidate], shown_id: str | None
) -> tuple[Workbench, list[Entrant]]:
    bench = workbench(lab, problem)
    bench.refuse_when_closed()
    bench.refuse_when_spent()
    return bench, [_enter(bench, candidate, shown_id) for candidate in wanted]


def _enter(bench: Workbench, candidate: Candidate, shown_id: str | None) -> Entrant:
    """Store one candidate; its own fault becomes its error."""
    is_source = "\n" in candidate.kernel
    try:
        text = given.read(bench, None if is_source else candidate.kernel, candidate.kernel if is_source else None)
        taken = given.take(bench, text, parent=candidate.parent, plan=candidate.plan, shown_id=shown_id)
    except BudgetSpent:
        raise
    except AnvilError as error:
        return Entrant(error=error.text)
    return Entrant(attempt=taken.attempt, is_working_file=taken.is_working_file)


async def _verify(bench: Workbench, entrants: list[Entrant], report: Report) -> list[Entrant]:
    """Every distinct attempt once, as many at a time as the backend has cores."""
    attempts = {entrant.attempt.number: entrant.attempt for entrant in entrants if entrant.attempt}
    verdicts: dict[int, tuple[Verdict, bool]] = {}
    limiter = anyio.CapacityLimiter(max(1, bench.backend.cores))

    async def one(attempt: Attempt) -> None:
        async with limiter:
            verdicts[attempt.number] = await judge(bench, attempt)
            await report(f"verified {len(verdicts)} of {len(attempts)}")

    async with anyio.create_task_group() as group:
        for attempt in attempts.values():
            group.start_soon(one, attempt)
    return [_with_verdict(entrant, verdicts) for entrant in entrants]


def _with_verdict(entrant: Entrant, verdicts: dict[int, tuple[Verdict, bool]]) -> Entrant:
    if entrant.attempt is None:
        return entrant
    verdict, known = verdicts[entrant.attempt.number]
    error = "" if verdict.passed else why_not(verdict)
    return replace(entrant, verdict=verdict, repeated=known and not verdict.passed, error=error)


async def _compare(bench: Workbench, entrants: list[Entrant], report: Report) -> list[Entrant]:
    """Stored benchmarks first; of the rest one per program is screened, the fastest are compared, one is confirmed."""
    entrants = await run_sync(partial(_recall, bench, entrants))
    contenders = _one_per_program(entrant for entrant in entrants if entrant.passed and not entrant.comparison)
    measured: dict[int, Entrant] = {}
    if contenders and await run_sync(bench.best) is None:
        first = contenders[0]
        measured[first.number] = await _found(bench, first, report)
        contenders = contenders[1:]
    if contenders:
        measured |= await _contend(bench, contenders, report)
    return [_share(entrant, measured) for entrant in entrants]


def _recall(bench: Workbench, entrants: list[Entrant]) -> list[Entrant]:
    def known(entrant: Entrant) -> Entrant:
        if not (entrant.attempt and entrant.verdict and entrant.passed):
            return entrant
        found = known_comparison(bench, entrant.attempt, entrant.verdict)
        if found is None:
            return entrant
        if found.same_as is not None:
            store(bench, entrant.attempt, found)
        return replace(entrant, comparison=found, repeated=found.same_as is None)

    return [known(entrant) for entrant in entrants]


def _one_per_program(entrants: Iterable[Entrant]) -> list[Entrant]:
    """Kernels with the same instructions run once, for the first of them."""
    chosen: dict[str, Entrant] = {}
    for entrant in entrants:
        chosen.setdefault(_program(entrant), entrant)
    return list(chosen.values())


def _program(entrant: Entrant) -> str:
    program = entrant.verdict.instruction_digest if entrant.verdict else ""
    return program or (entrant.attempt.digest if entrant.attempt else "")


async def _found(bench: Workbench, entrant: Entrant, report: Report) -> Entrant:
    """Compare to the end with what is best then, and make it best if it earns it."""
    if entrant.attempt is None:
        return entrant
    return replace(entrant, comparison=await contest(bench, entrant.attempt, report))


async def _contend(bench: Workbench, contenders: list[Entrant], report: Report) -> dict[int, Entrant]:
    """Screen all, compare the fastest, and give the fastest that looks like a keep a fresh, confirmed trial."""
    judges = await _judges(bench, report)
    screened = await _screen(bench, judges, contenders, report)
    fastest = sorted(screened, key=lambda entrant: -(entrant.speedup or 0))
    compared = [await _full(judges, entrant) for entrant in fastest[: bench.rules.beam]]
    hopeful = [e for e in compared if e.outcome == "keep"]
    champion = max(hopeful, key=lambda e: e.speedup or 0, default=None)
    everyone = {entrant.number: entrant for entrant in (*screened, *compared)}
    for entrant in everyone.values():
        if entrant is not champion and entrant.attempt and entrant.comparison:
            everyone[entrant.number] = await run_sync(partial(_settle, bench, entrant))
    if champion is not None:
        everyone[champion.number] = await _found(bench, champion, report)
    return everyone


@dataclass(frozen=True)
class Judges:
    sampler: Sampler
    best: Arm


async def _judges(bench: Workbench, report: Report) -> Judges:
    best = await run_sync(bench.best)
    if best is None:
        raise state.damaged(bench.pointer.path, "it is gone")
    arm = await arm_of(await run_sync(bench.problem.attempts.get, best.attempt))
    return Judges(await sampler(bench, arm, report), arm)


async def _screen(bench: Workbench, judges: Judges, contenders: list[Entrant], report: Report) -> list[Entrant]:
    """One paired round each. The model's is its whole comparison, and as many run at once as there are cores."""
    modelled = bench.origin == "modelled"
    limiter = anyio.CapacityLimiter(max(1, bench.backend.cores) if modelled else 1)
    done: dict[int, Entrant] = {}

    async def one(entrant: Entrant) -> None:
        async with limiter:
            done[entrant.number] = await (_full(judges, entrant) if modelled else _rough(judges, entrant))
            await report(f"measured {len(done)} of {len(contenders)}")

    async with anyio.create_task_group() as group:
        for entrant in contenders:
            group.start_soon(one, entrant)
    return [done[entrant.number] for entrant in contenders]


async def _rough(judges: Judges, entrant: Entrant) -> Entrant:
    if entrant.attempt is None:
        return entrant
    return replace(entrant, screened=await judges.sampler.screen(await arm_of(entrant.attempt), judges.best))


async def _full(judges: Judges, entrant: Entrant) -> Entrant:
    """The plan without confirmation, once."""
    if entrant.attempt is None or entrant.comparison is not None:
        return entrant
    new = await arm_of(entrant.attempt)
    return replace(entrant, comparison=await judges.sampler.compare(new, judges.best, confirm=False))


def _settle(bench: Workbench, entrant: Entrant) -> Entrant:
    """Store what was measured; who looked like a keep but was not the fastest stays a candidate."""
    if entrant.attempt is None or entrant.comparison is None:
        return entrant
    comparison = entrant.comparison
    if comparison.outcome == "keep":
        flags = (*comparison.flags, "not the fastest of its call")
        comparison = comparison.model_copy(update={"outcome": "undecided", "flags": flags})
    store(bench, entrant.attempt, comparison)
    return replace(entrant, comparison=comparison)


def _share(entrant: Entrant, measured: dict[int, Entrant]) -> Entrant:
    """What was measured for one kernel holds for all with the same instructions; only one of them is the keep."""
    if not entrant.passed or entrant.comparison is not None:
        return entrant
    if entrant.number in measured:
        return measured[entrant.number]
    twin = next((found for found in measured.values() if _program(found) == _program(entrant)), None)
    if twin is None or twin.comparison is None or entrant.attempt is None:
        return replace(entrant, screened=twin.screened if twin else None)
    outcome = "undecided" if twin.comparison.outcome == "keep" else twin.comparison.outcome
    update = {"new_digest": entrant.attempt.digest, "same_as": twin.number, "seconds": 0.0, "outcome": outcome}
    return replace(entrant, comparison=twin.comparison.model_copy(update=update))


def _conclude(bench: Workbench, entrants: list[Entrant], limit: int) -> Evaluated:
    order = sorted(entrants, key=_rank)
    restored = _count(bench, order)
    counts = _counts(entrants)
    bench.write("evaluated", counts=counts, attempts=sorted({e.number for e in entrants if e.attempt}))
    best = bench.best()
    return Evaluated(
        candidates=tuple(_shown(entrant) for entrant in order[:limit]),
        counts=counts,
        all=links.attempts(bench.problem.name),
        beam=_beam(bench, entrants),
        experience_candidates=_pairs(bench, entrants),
        origin=bench.origin,
        best_digest=best.digest if best else None,
        guard=bench.guard_view(),
        restored=restored,
    )


def _rank(entrant: Entrant) -> tuple[bool, bool, float]:
    return (entrant.outcome != "keep", not entrant.passed, -(entrant.speedup or 0.0))


def _count(bench: Workbench, order: list[Entrant]) -> str | None:
    """One step for the guard. Returns the working file's path if best was put back into it."""
    fresh = [entrant for entrant in order if entrant.attempt and not entrant.repeated]
    if any(entrant.is_progress for entrant in fresh):
        bench.count_keep()
        return None
    first = next((entrant for entrant in fresh if entrant.outcome != "keep"), None)
    if first is None or first.attempt is None or not bench.count_failure(first.attempt, guard.FAILURE):
        return None
    return bench.restore(first.attempt, is_working_file=first.is_working_file)


def _counts(entrants: list[Entrant]) -> dict[str, int]:
    """How many there were of everything; each candidate as often as it was given."""
    found = Counter[str](candidates=len(entrants))
    for entrant in entrants:
        found["unreadable" if entrant.attempt is None else "passed" if entrant.passed else "failed"] += 1
        found["repeated"] += entrant.repeated
        found[entrant.outcome or ""] += 1
    names = ("candidates", "passed", "failed", "unreadable", "keep", "revert", "undecided", "repeated")
    return {name: found[name] for name in names}


def _shown(entrant: Entrant) -> Ranked:
    return Ranked(
        digest=shorten(entrant.attempt.digest) if entrant.attempt else "",
        attempt=entrant.attempt.number if entrant.attempt else None,
        passed=entrant.passed,
        outcome=entrant.outcome,
        speedup=entrant.speedup,
        error=entrant.error,
        repeated=entrant.repeated,
        same_as=entrant.comparison.same_as if entrant.comparison else None,
    )


def _beam(bench: Workbench, entrants: list[Entrant]) -> tuple[Beamed, ...]:
    """The kernels to expand next, out of the stored beam and these."""
    best = bench.best()
    if best is None:
        return ()
    new = [entry for entrant in entrants if (entry := _entry(entrant, best.latency_us))]
    held = [_held(bench, best.baseline), *new]
    renewed = beam.renew(bench.problem.folder, bench.origin, held, _held(bench, best), bench.rules.beam)
    return tuple(
        Beamed(digest=entry.digest, attempt=entry.attempt, speedup=best.latency_us / entry.latency_us)
        for entry in renewed.entries
    )


def _held(bench: Workbench, holder: Holder) -> Entry:
    verdict = bench.verdict(bench.problem.attempts.get(holder.attempt))
    program = verdict.instruction_digest if verdict else ""
    return Entry(digest=holder.digest, attempt=holder.attempt, program=program, latency_us=holder.latency_us)


def _entry(entrant: Entrant, best_us: float) -> Entry | None:
    """Of a kernel that passed and was measured at all."""
    if entrant.attempt is None or entrant.verdict is None or not (entrant.comparison or entrant.screened):
        return None
    latency = entrant.comparison.latency_us if entrant.comparison else best_us / (entrant.screened or 1.0)
    program = entrant.verdict.instruction_digest
    return Entry(digest=entrant.attempt.digest, attempt=entrant.number, program=program, latency_us=latency)


def _pairs(bench: Workbench, entrants: list[Entrant]) -> tuple[ExperienceCandidate, ...]:
    fresh = (entrant for entrant in entrants if entrant.comparison and not entrant.repeated)
    return worth_a_lesson((child for entrant in fresh if (child := _child(bench, entrant))), bench.rules)


def _child(bench: Workbench, entrant: Entrant) -> Child | None:
    """A candidate beside its parent; None where the parent was never measured."""
    if entrant.attempt is None or entrant.comparison is None or entrant.attempt.lineage.parent is None:
        return None
    lineage, comparison = entrant.attempt.lineage, entrant.comparison
    speedup = comparison.speedup
    if lineage.parent != comparison.best_digest:
        parent = bench.problem.attempts.of(lineage.parent or "")
        measured = bench.comparison(parent) if parent else None
        speedup = measured.latency_us / comparison.latency_us if measured else None
    if speedup is None or lineage.parent is None:
        return None
    return Child(lineage.digest, lineage.attempt, lineage.parent, lineage.plan, speedup)
