"""``open_problem``: pin a specification, keep the kernel that is there as attempt 0, verify and measure it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from anyio.to_thread import run_sync

from nki_anvil.backends import scratch
from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import (
    ArgumentsInvalid,
    GateUnverified,
    KernelMissing,
    PathOutside,
    PathUnreadable,
    ProblemChanged,
    ReflexionRequired,
    StateDamaged,
)
from nki_anvil.backends.worker.kernel_text import first_entry
from nki_anvil.lab import budget, end_to_end, problem_file, seals, seeds, state, under_way, working_file, yields
from nki_anvil.lab import problem as problems
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.contest import contest
from nki_anvil.lab.digest import digest
from nki_anvil.lab.fingerprint import fingerprint
from nki_anvil.lab.held import Held, held
from nki_anvil.lab.judging import judge, standing_best
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.nkibench import naming
from nki_anvil.lab.problem import Problem, ProblemRecord
from nki_anvil.lab.results import Baseline, Opened
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.workbench import Workbench, workbench

DEFAULT_CHIP = "trn2"
"""What a caller who does not care asks for; a problem.toml may then say otherwise."""


@dataclass(frozen=True)
class Wanted:
    """What the caller asked for, with paths resolved."""

    reference: Path
    kernel: Path | None
    name: str | None
    tolerance: float | None
    chip: str | None
    """None: the declared one."""
    backend: str


async def open_problem(
    lab: Laboratory,
    reference: str,
    *,
    kernel_path: str | None = None,
    name: str | None = None,
    tolerance: float | None = None,
    chip: str = "trn2",
    backend: str | None = None,
    report: Report = silent,
) -> Opened:
    """Open a problem, or take it up again where it was left.

    ``reference`` is the path of a reference module or a problem folder inside the workspace, ``seed:<name>``,
    or ``nkibench:<task>`` of a checkout in the workspace. Raises
    ProblemInvalid, ProblemChanged, KernelMissing and the errors of paths, arguments and backends.
    """
    wanted = await run_sync(partial(resolve, lab, reference, kernel_path, name, tolerance, chip, backend))
    known = await run_sync(find, lab, wanted)
    if known is None:
        problem = await _opened(lab, reference, wanted, report)
    else:
        end_to_end.refuse_without_device(known.specification, lab.backend_named(wanted.backend))
        refuse_additions(reference, known.specification)
        problem = await run_sync(take_up, lab, wanted, known)
    bench = await run_sync(workbench, lab, problem.name)
    await establish(bench, report)
    return await run_sync(partial(describe, bench, reference, resumed=known is not None))


async def _opened(lab: Laboratory, reference: str, wanted: Wanted, report: Report) -> Problem:
    """A new problem. Its cases are kept once nothing refuses it: what they were made of may be the reason."""
    await report("reading the reference")
    async with scratch.aside(lab.data / "opening", "problem-") as aside:
        specification = await lab.load(
            wanted.reference,
            kernel=wanted.kernel,
            name=wanted.name,
            tolerance=wanted.tolerance,
            chip=wanted.chip,
            data=lab.data,
            aside=aside,
            random=lab.random,
            report=report,
        )
        end_to_end.refuse_without_device(specification, lab.backend_named(wanted.backend))
        refuse_additions(reference, specification)
        problem = await run_sync(pin, lab, wanted, specification)
        await run_sync(Pool(specification, aside).publish, lab.data)
    return problem


def resolve(
    lab: Laboratory,
    reference: str,
    kernel_path: str | None,
    name: str | None,
    tolerance: float | None,
    chip: str,
    backend: str | None,
) -> Wanted:
    """Check the arguments before anything is made of them."""
    if name is not None:
        problems.refuse_bad_name(name)
    lab.backend_named(backend or lab.backend)
    _ = lab.root
    if reference.startswith(seeds.PREFIX):
        path = seeds.copy(reference.removeprefix(seeds.PREFIX), lab.workspace)
    elif reference.startswith(naming.PREFIX):
        path = naming.copy(reference.removeprefix(naming.PREFIX), lab.workspace)
    else:
        path = reference
    found = working_file.confine(lab.workspace, path)
    if not found.exists():
        raise PathUnreadable(
            f"{lab.shown(found)} does not exist.",
            "Give the path of a reference module or a problem folder, or seed:<name>.",
        )
    found = problem_file.declaring(found)
    kernel = working_file.of_a_problem(lab.workspace, kernel_path) if kernel_path else None
    declared = None if chip == DEFAULT_CHIP else chip
    return Wanted(found, kernel, name, tolerance, declared, backend or lab.backend)


def refuse_additions(reference: str, specification: Specification) -> None:
    """Raises ProblemChanged where what a name stands for would rest on a file that somebody put beside it, or in the
    place of one of its own while it was read.
    """
    if reference.startswith(seeds.PREFIX):
        seeds.refuse_exchanged(reference.removeprefix(seeds.PREFIX), specification)
    if reference.startswith(naming.PREFIX) and specification.declared_digest:
        raise seeds.another(Path(specification.reference).parent / "problem.toml", reference)
    if reference.startswith((seeds.PREFIX, naming.PREFIX)):
        for file in (path for path, digest in specification.reference_beside.items() if digest):
            raise seeds.another(Path(file), reference)


def find(lab: Laboratory, wanted: Wanted) -> Problem | None:
    """The open problem that is meant: by name, else the newest opened from the same reference, unchanged ones first."""
    if wanted.name is not None:
        return lab.find(wanted.name)
    same = [problem for problem in readable(lab) if problem.record.opened_from == str(wanted.reference)]
    return max(same, key=lambda problem: (not problem.changed(), *_age(lab, problem.record)), default=None)


def _age(lab: Laboratory, record: ProblemRecord) -> tuple[int, str]:
    """More for what was opened later, whatever the clock said; by the time where no opening was noted."""
    return seals.last_place(lab.root, _opening(record.name)), record.opened_at


def _opening(name: str) -> str:
    return f"opened {name}"


def readable(lab: Laboratory) -> list[Problem]:
    """Every open problem but those of another workspace, and those with damaged state: others can still be opened."""
    found: list[Problem] = []
    for name in lab.names():
        with suppress(StateDamaged, PathOutside):
            found.append(lab.problem(name))
    return found


def take_up(lab: Laboratory, wanted: Wanted, known: Problem) -> Problem:
    """Go on with a problem, on the backend and with the kernel file that are asked for now.

    Raises ArgumentsInvalid when something is asked that was pinned differently, ProblemChanged.
    """
    pinned, other = known.specification, "open it under a new name"
    if known.record.opened_from != str(wanted.reference):
        raise ArgumentsInvalid(f"The name {known.name!r} is taken by {known.record.opened_from}.", "Give another name.")
    known.refuse_when_put_back()
    known.refuse_when_changed()
    if wanted.chip not in (None, pinned.chip):
        raise ArgumentsInvalid(
            f"{known.name!r} was opened for {pinned.chip}, not {wanted.chip}.", f"To change that, {other}."
        )
    if wanted.tolerance is not None and wanted.tolerance != pinned.tolerance:
        raise ProblemChanged(
            f"{known.name!r} was opened with tolerance {pinned.tolerance:g}, not {wanted.tolerance:g}.",
            f"To change that, {other}.",
        )
    if wanted.kernel and not wanted.kernel.exists():
        raise missing(lab, wanted.kernel)
    if wanted.kernel:
        working_file.refuse_unreadable(wanted.kernel, lab.shown(wanted.kernel))
        refuse_sources(lab, wanted.kernel)
    kernel = str(wanted.kernel) if wanted.kernel else pinned.kernel
    record = known.record.model_copy(
        update={
            "backend": wanted.backend,
            "finished_at": None,
            "specification": pinned.model_copy(update={"kernel": kernel}),
        }
    )
    return save(lab, record)


def pin(lab: Laboratory, wanted: Wanted, specification: Specification) -> Problem:
    """Store a new problem with its kernel as attempt 0, whose function is entered in every text from here on.

    Raises KernelMissing, ArgumentsInvalid, BudgetSpent.
    """
    name = wanted.name or specification.name
    problems.refuse_bad_name(name)
    kernel = working_file.of_a_problem(lab.workspace, specification.kernel)
    if not kernel.exists():
        raise missing(lab, kernel)
    text = working_file.read(kernel, lab.shown(kernel))
    rests_on = problems.sources(wanted.reference, specification)
    refuse_meanwhile(rests_on)
    refuse_source(lab, kernel, rests_on)
    record = ProblemRecord(
        name=name,
        specification=specification.model_copy(
            update={"name": name, "kernel": str(kernel), "entry": specification.entry or first_entry(text)}
        ),
        backend=wanted.backend,
        opened_at=lab.clock().isoformat(),
        opened_from=str(wanted.reference),
        sources=rests_on,
    )
    with state.locked(lab.root / ".open.lock"):
        known = lab.find(name)
        if known is not None:
            return take_up(lab, wanted, known)
        refuse_sources(lab, kernel)
        for other in readable(lab):
            refuse_source(lab, other.working_file, rests_on)
        account = Problem(lab.folder(name), record, lab.attempts(name)).account
        budget.add_kernel(account, digest(text), lab.rules.attempts_limit)
        set_aside(lab.folder(name))
        seals.begin_anew(lab.folder(name))
        seals.note(lab.root, _opening(name), record)
        lab.attempts(name).take(text, at=record.opened_at, path=str(kernel))
        return save(lab, record)


def set_aside(folder: Path) -> None:
    """Move what lies there without its ``problem.json``, of a call that was killed or of a problem whose record is
    gone: its first attempt would be the baseline of another kernel, or of other shapes. Nothing of it is deleted."""
    if folder.exists():
        with state.writable(folder):
            folder.rename(folder.with_name(f".{folder.name}.{secrets.token_hex(4)}"))


def refuse_meanwhile(rests_on: Mapping[str, str]) -> None:
    """Raises ProblemChanged where a file is another by now than the one that was read."""
    for path, known in rests_on.items():
        if fingerprint(Path(path)) != known:
            raise ProblemChanged(
                f"{path} changed while the problem was opened from it, and nothing was opened.",
                "Call open_problem again.",
            )


def refuse_source(lab: Laboratory, kernel: Path, rests_on: Mapping[str, str]) -> None:
    """Raises ArgumentsInvalid for a working file on which the judgement rests: best would be written over it."""
    if os.path.realpath(kernel) in map(os.path.realpath, rests_on):
        raise ArgumentsInvalid(
            f"A problem rests on {lab.shown(kernel)}, and a problem's kernel file is written to.",
            "Give the kernel a file of its own, on which no problem rests.",
        )


def refuse_sources(lab: Laboratory, kernel: Path) -> None:
    """As ``refuse_source``, for what any problem of the workspace rests on."""
    for problem in readable(lab):
        refuse_source(lab, kernel, problem.record.sources)


def missing(lab: Laboratory, kernel: Path) -> KernelMissing:
    return KernelMissing(
        f"There is no kernel at {lab.shown(kernel)}.", "Write a first version there, or give another kernel_path."
    )


def save(lab: Laboratory, record: ProblemRecord) -> Problem:
    """Write the record and tell whoever wants to know."""
    problems.store(lab.folder(record.name), record)
    lab.changed(record.name, "problem", None)
    return lab.problem(record.name)


async def establish(bench: Workbench, report: Report) -> None:
    """Verify and measure attempt 0 where this origin has no best yet."""
    if await standing_best(bench, report) is not None:
        return
    await run_sync(bench.note_verified)
    attempt = await run_sync(bench.problem.attempts.get, 0)
    with suppress(ReflexionRequired):  # it is judged once the guard is open
        verdict = await first_verdict(bench, attempt, report)
        if verdict.passed:
            await report("measuring the baseline")
            with suppress(GateUnverified):  # it failed while it was measured: its verdict says so
                await contest(bench, attempt, report)


async def first_verdict(bench: Workbench, attempt: Attempt, report: Report) -> Verdict:
    """What a problem begins with may be wrong at no cost; where another name of it begins with another kernel, that is
    a try as any other. Raises ReflexionRequired."""
    if budget.first_kernel(bench.problem.account) == attempt.digest:
        return (await judge(bench, attempt, report))[0]
    async with under_way.turn(bench, report):
        return (await judge(bench, attempt, report, counts=True))[0]


def no_baseline(bench: Workbench) -> str:
    """Why there is none; empty where there is one."""
    if bench.best() is not None:
        return ""
    verdict = bench.verdict(bench.problem.attempts.get(0))
    if verdict:
        return why_not(verdict)
    asked = bench.guard_view().asks
    return f"the guard is closed, and the kernel has not been judged: {asked}" if asked else "it has not been judged"


def why_not(verdict: Verdict) -> str:
    """One sentence on the gate that stopped the kernel."""
    failed = next((gate for gate in verdict.gates if gate.passed is False), None)
    unreached = next((gate for gate in verdict.gates if gate.passed is None), None)
    gate = failed or unreached
    return f"the kernel stopped at the gate {gate.name}: {gate.detail}" if gate else "the kernel did not pass"


def describe(bench: Workbench, reference: str, *, resumed: bool) -> Opened:
    bench.note_verified()
    bench.write("opened", resumed=resumed, backend=bench.backend.name)
    specification, now = bench.specification, _held(bench)
    return Opened(
        problem=bench.problem.name,
        kernel_path=bench.lab.shown(specification.kernel),
        chip=specification.chip,
        backend=bench.backend.name,
        origin=bench.origin,
        baseline=baseline_of(specification, bench.best()),
        baseline_reason=no_baseline(bench),
        fallen=bench.fallen(),
        peak=yields.peak(specification),
        bound=yields.bound(specification),
        tolerance=specification.tolerance,
        resumed=resumed,
        working_file=now.state,
        held=now.digest,
        warnings=(*specification.warnings, *_another_start(bench, reference)),
    )


def _another_start(bench: Workbench, reference: str) -> tuple[str, ...]:
    """A seed's name says nothing of the kernel that was in its place."""
    seed, first = reference.removeprefix(seeds.PREFIX), bench.problem.attempts.get(0)
    if seed == reference or seed in seeds.TEMPLATES or first.digest == digest(seeds.kernel_text(seed)):
        return ()
    file = bench.lab.shown(first.lineage.path or bench.specification.kernel)
    said = f"The starting kernel is what {file} held when this was opened, not the kernel of {reference}: "
    return (f"{said}speedups over the baseline say nothing of the seed.",)


def _held(bench: Workbench) -> Held:
    try:
        return held(bench)
    except PathUnreadable:
        return Held("unverified", None)  # verify_kernel says what is wrong with it


def baseline_of(specification: Specification, best: Best | None) -> Baseline | None:
    """The first kernel that was best in an origin and has not failed since, as it is shown."""
    if best is None:
        return None
    holder = best.baseline
    return Baseline(
        digest=holder.digest,
        latency_us=holder.latency_us,
        percent_of_peak=yields.percent_of_peak(specification, holder.latency_us),
        percent_of_bound=yields.percent_of_bound(specification, holder.latency_us),
        attempt=holder.attempt,
    )
