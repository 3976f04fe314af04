"""``evaluate_candidates``: verify and rank many kernels at once, keep at most one, and say which to expand next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import AnvilError, ArgumentsInvalid, BudgetSpent, GateUnverified
from nki_anvil.lab import admission, diary, given, under_way
from nki_anvil.lab.at_once import at_once
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.benchmarking import known_comparison, told_before
from nki_anvil.lab.best import Best
from nki_anvil.lab.contest import arm_of, contest, convict, sampler, store
from nki_anvil.lab.end_to_end import WrongWhileTimed
from nki_anvil.lab.entrants import Entrant
from nki_anvil.lab.judging import judge, standing_best
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.ranking import conclude
from nki_anvil.lab.results import Candidate, Evaluated
from nki_anvil.lab.sampling import Sampler
from nki_anvil.lab.steps import Holding
from nki_anvil.lab.timing import Arm
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.workbench import Workbench, workbench

MOST = 256


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

    Every text is stored first; one that cannot be read is an entry with its error, not the end of the call. A call that
    was killed or cancelled is taken up by the same call: what it judged stands, and counts as this one's. Where another
    call comes first, it counts as a step of its own. Raises ReflexionRequired, BudgetSpent, ArgumentsInvalid, and the
    errors of problems and backends.
    """
    if not 1 <= len(kernels) <= MOST:
        raise ArgumentsInvalid(f"{len(kernels)} kernels were given.", f"Give 1 to {MOST}.")
    wanted = [Candidate(kernel=kernel) if isinstance(kernel, str) else kernel for kernel in kernels]
    bench = await run_sync(partial(workbench, lab, problem))
    async with under_way.turn(bench, report):
        entrants, judged, step = await run_sync(partial(_admit, bench, wanted, shown_id))
        try:
            entrants = await _verify(bench, entrants, judged, report)
            entrants = await _compare(bench, entrants, judged, report)
            return await run_sync(partial(_conclude, bench, entrants, limit, step))
        finally:
            step.leave()


def _admit(
    bench: Workbench, wanted: list[Candidate], shown_id: str | None
) -> tuple[list[Entrant], frozenset[int], Holding]:
    bench.refuse_when_closed()
    bench.refuse_when_spent()
    entrants = [_enter(bench, candidate, shown_id) for candidate in wanted]
    numbers = sorted({entrant.number for entrant in entrants if entrant.attempt})
    admission.admit(bench, takes_up=numbers)
    judged = admission.judged(diary.history(bench.problem.folder), bench.origin, numbers)
    bench.write("evaluating", attempts=numbers)
    return entrants, judged, admission.begin(bench, tuple(numbers), judged)


def _conclude(bench: Workbench, entrants: list[Entrant], limit: int, step: Holding) -> Evaluated:
    evaluated = conclude(bench, entrants, limit)
    step.end()
    return evaluated


def is_source(kernel: str) -> bool:
    """Whether a candidate is a kernel text, and not the path of one."""
    return "\n" in kernel


def _enter(bench: Workbench, candidate: Candidate, shown_id: str | None) -> Entrant:
    """Store one candidate; its own fault becomes its error."""
    kernel = candidate.kernel
    try:
        text = given.read(bench, *((None, kernel) if is_source(kernel) else (kernel, None)))
        taken = given.take(bench, text, parent=candidate.parent, plan=candidate.plan, shown_id=shown_id)
    except BudgetSpent:
        raise
    except AnvilError as error:
        return Entrant(error=error.text)
    return Entrant(attempt=taken.attempt, is_working_file=taken.is_working_file)


async def _verify(bench: Workbench, entrants: list[Entrant], judged: frozenset[int], report: Report) -> list[Entrant]:
    """Every distinct attempt once, as many at a time as the backend has cores."""
    attempts = {entrant.attempt.number: entrant.attempt for entrant in entrants if entrant.attempt}
    verdicts: dict[int, tuple[Verdict, bool]] = {}

    async def one(attempt: Attempt) -> None:
        verdict, known = await judge(bench, attempt)
        verdicts[attempt.number] = (verdict, known and attempt.number not in judged)
        said = "passed" if verdict.passed else f"failed at {verdict.failed_gate}"
        before = " before" if known else ""
        await report(f"verified {len(verdicts)} of {len(attempts)}: attempt {attempt.number} {said}{before}")

    await at_once(attempts.values(), bench.backend.cores, one)
    return await run_sync(partial(_judged, bench, entrants, verdicts))


def _judged(bench: Workbench, entrants: list[Entrant], verdicts: dict[int, tuple[Verdict, bool]]) -> list[Entrant]:
    """Each with the verdict that stands when all were judged: what one failed at, an earlier one fails at too."""

    def judged(entrant: Entrant) -> Entrant:
        if entrant.attempt is None:
            return entrant
        verdict, known = verdicts[entrant.number]
        repeated = known and not verdict.passed
        return replace(entrant, verdict=bench.verdict(entrant.attempt) or verdict, repeated=repeated)

    return [judged(entrant) for entrant in entrants]


async def _compare(bench: Workbench, entrants: list[Entrant], judged: frozenset[int], report: Report) -> list[Entrant]:
    """Stored benchmarks first; of the rest one per program is screened, the fastest are compared, one is confirmed."""
    entrants = await run_sync(partial(_recall, bench, entrants, judged))
    contenders = _one_per_program(entrant for entrant in entrants if entrant.passed and not entrant.comparison)
    measured: dict[int, Entrant] = {}
    best: Best | None = None
    while contenders and (best := await standing_best(bench, report)) is None:
        first, *contenders = contenders
        measured[first.number] = await _or_left_out(bench, first, partial(_found, bench, first, report))
    if best is not None:
        measured |= await _contend(bench, best, contenders, report)
    return [_share(entrant, measured) for entrant in entrants]


def _recall(bench: Workbench, entrants: list[Entrant], judged: frozenset[int]) -> list[Entrant]:
    """Stored comparisons; one that a broken-off call made is no repeat."""

    def known(entrant: Entrant) -> Entrant:
        if not (entrant.attempt and entrant.verdict and entrant.passed):
            return entrant
        found = known_comparison(bench, entrant.attempt, entrant.verdict)
        if found is None:
            return entrant
        before = told_before(entrant.attempt, found)
        if not before:
            store(bench, entrant.attempt, found)
        return replace(entrant, comparison=found, repeated=before and entrant.number not in judged)

    return [known(entrant) for entrant in entrants]


def _one_per_program(entrants: Iterable[Entrant]) -> list[Entrant]:
    """Kernels with the same instructions run once, for the first of them."""
    chosen: dict[str, Entrant] = {}
    for entrant in entrants:
        chosen.setdefault(entrant.program, entrant)
    return list(chosen.values())


async def _found(bench: Workbench, entrant: Entrant, report: Report) -> Entrant:
    """Compare to the end with what is best then, and make it best if it earns it."""
    if entrant.attempt is None:
        return entrant
    try:
        return replace(entrant, comparison=await contest(bench, entrant.attempt, report))
    except GateUnverified:
        return replace(entrant, comparison=None)  # its verdict is read again at the end


async def _contend(bench: Workbench, best: Best, contenders: list[Entrant], report: Report) -> dict[int, Entrant]:
    """Screen all, compare the fastest, and give the fastest that looks like a keep a fresh, confirmed trial."""
    judges = await _judges(bench, best, report)
    screened = await _screen(bench, judges, contenders, report)
    fastest = sorted(screened, key=lambda entrant: -(entrant.gain or 0))
    compared = [await _or_left_out(bench, e, partial(_full, judges, e)) for e in fastest[: bench.rules.beam]]
    hopeful = [e for e in compared if e.outcome == "keep"]
    champion = max(hopeful, key=lambda e: e.gain or 0, default=None)
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


async def _judges(bench: Workbench, best: Best, report: Report) -> Judges:
    arm = await arm_of(await run_sync(bench.problem.attempts.held, best))
    return Judges(await sampler(bench, arm, report), arm)


async def _screen(bench: Workbench, judges: Judges, contenders: list[Entrant], report: Report) -> list[Entrant]:
    """One paired round each. The model's is its whole comparison, and as many run at once as there are cores."""
    modelled = bench.origin == "modelled"
    done: dict[int, Entrant] = {}

    async def one(entrant: Entrant) -> None:
        measured = await _or_left_out(bench, entrant, partial(_full if modelled else _rough, judges, entrant))
        done[entrant.number] = measured
        speed = f" at {measured.speedup:.3f} of best" if measured.speedup else ""
        await report(f"measured {len(done)} of {len(contenders)}: attempt {entrant.number}{speed}")

    await at_once(contenders, bench.backend.cores if modelled else 1, one)
    return [done[entrant.number] for entrant in contenders]


async def _or_left_out(bench: Workbench, entrant: Entrant, timing: Callable[[], Awaitable[Entrant]]) -> Entrant:
    """What is wrong only while it is timed is out, and what no device time is left for is not timed; others go on."""
    try:
        await run_sync(bench.refuse_when_spent)
        return await timing()
    except BudgetSpent as spent:
        return replace(entrant, error=spent.text)
    except WrongWhileTimed as wrong:
        if entrant.attempt is None:
            raise
        return replace(entrant, verdict=await run_sync(partial(convict, bench, entrant.attempt, wrong)))


async def _rough(judges: Judges, entrant: Entrant) -> Entrant:
    if entrant.attempt is None:
        return entrant
    return replace(entrant, screened=await judges.sampler.screen(await arm_of(entrant.attempt), judges.best))


async def _full(judges: Judges, entrant: Entrant) -> Entrant:
    """The plan without confirmation, once."""
    if entrant.attempt is None or entrant.comparison is not None or not entrant.passed:
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
    twin = next((found for found in measured.values() if found.program == entrant.program), None)
    if twin is None or twin.comparison is None or entrant.attempt is None:
        return replace(entrant, screened=twin.screened if twin else None)
    return replace(entrant, comparison=twin.comparison.of_twin(entrant.attempt.digest, twin.number))
