"""One verification: language first, then one job on a backend, then the gates in order on what came back.

It decides nothing itself; each gate does, in ``lab/gates``. A machine's failure passes through it as a BackendError.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from nki_anvil.backends.backend import Backend, Report, silent
from nki_anvil.backends.errors import BackendFailed, one_error
from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.run import CaseResult, Profile, Run, Trace
from nki_anvil.lab import exact_cases, pressing, repeats, returned
from nki_anvil.lab.cases import Pool, Pooled
from nki_anvil.lab.evidence import Evidence, Judgement, Observed
from nki_anvil.lab.gates import (
    artefact,
    determinism,
    language,
    machine,
    outputs,
    plausibility,
    reproducible,
    sensitivity,
    values,
)
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import GATE_NAMES, GateResult, Verdict
from nki_anvil.lab.yardstick import Yardstick
from nki_anvil.sim.dtypes import numpy_dtype
from nki_anvil.sim.moved_constants import TURNS

GATES: Final[dict[str, Callable[[Evidence], Judgement]]] = {
    "reproducible": reproducible.judge,
    "machine": machine.judge,
    "outputs": outputs.judge,
    "values": values.judge,
    "sensitivity": sensitivity.judge,
    "determinism": determinism.judge,
    "plausibility": plausibility.judge,
    "artefact": artefact.judge,
}
"""The gates after ``language``, in order."""

WARNINGS: Final = 25
"""That a Verdict writes out."""


@dataclass(frozen=True, slots=True)
class Verification:
    """A Verdict, and what the run behind it also told."""

    verdict: Verdict
    profile: Profile | None
    """Of the timed shape; None where the kernel was not traced."""
    run: Run | None
    """None where the language gate already stopped the kernel."""


async def verify(
    specification: Specification,
    kernel: str,
    digest: str,
    *,
    backend: Backend,
    pool: Pool,
    random: np.random.Generator,
    report: Report = silent,
    full: bool = True,
    again: bool = False,
) -> Verification:
    """Judge a kernel's text, ``again`` on what it has returned itself and on rows that are sought as well.

    Raises BackendError for a machine's failure and ProblemInvalid for the reference's.
    """
    started = anyio.current_time()
    first = await anyio.to_thread.run_sync(partial(_read, specification, kernel))
    evidence, judgements = None, [first]
    if first.passed:
        evidence = await _gather(specification, kernel, digest, backend, pool, random, report, full)
        await report("judging")
        evidence, judgements = await _judged(specification, kernel, digest, backend, pool, evidence, report)
        if again and judgements[-1].passed is not False:
            evidence = await _with_returned(specification, kernel, digest, backend, pool, evidence, report)
            evidence, judgements = await _judged(specification, kernel, digest, backend, pool, evidence, report)
        if again and judgements[-1].passed is not False:
            hard = await _pressed(specification, kernel, digest, backend, pool, evidence, random, report)
            if hard:
                evidence = replace(evidence, observed=(*evidence.observed, *hard))
                evidence, judgements = await _judged(specification, kernel, digest, backend, pool, evidence, report)
    seconds = anyio.current_time() - started
    verdict = _verdict(specification, digest, backend, evidence, judgements, full, seconds)
    run = evidence.run if evidence else None
    return Verification(verdict, _profile(run, specification.timed), run)


def _read(specification: Specification, kernel: str) -> Judgement:
    """The language gate as far as the text alone tells; a long text takes its time."""
    return _language(specification, kernel)


def _language(specification: Specification, kernel: str, traces: Sequence[Trace] = ()) -> Judgement:
    inputs = [spec.name for spec in specification.shape_sets[specification.timed].inputs]
    return language.judge(kernel, specification.entry, traces, specification.nki_version, inputs=inputs)


async def _gather(
    specification: Specification,
    kernel: str,
    digest: str,
    backend: Backend,
    pool: Pool,
    random: np.random.Generator,
    report: Report,
    full: bool,
) -> Evidence:
    """One job with every case, fresh ones among them, whose yardsticks are measured meanwhile."""
    pooled = await pool.draw(random, full=full, report=report)
    fresh = await pool.fresh(random, pooled) if full else []
    if fresh and _by_the_reference(specification, fresh[0].shapes):
        pooled, fresh = [*pooled, *await pool.add(fresh)], []
    cases = [*(p.case for p in pooled), *fresh]
    cases = repeats.by_lot(exact_cases.marked(specification, cases, backend.origin, full))
    simulated = backend.origin == "modelled"
    job = _job(specification, kernel, digest, cases, await _uploads(pool, pooled), simulated, simulated and full)
    runs: list[Run] = []
    added: list[Pooled] = []

    async def execute() -> None:
        runs.append(await _run(backend, job, pooled, pool, report))

    with one_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(execute)
            added = await pool.add(fresh) if fresh else []
    return await _evidence(specification, job, runs[0], [*pooled, *added], pool)


def _by_the_reference(specification: Specification, shapes: str) -> bool:
    """Whether the reference alone draws inputs, or makes the kernel's of them."""
    makes = specification.transforms and not returned.drawn(specification, shapes)
    return makes or specification.own_draws == "reference"


async def _with_returned(
    specification: Specification,
    kernel: str,
    digest: str,
    backend: Backend,
    pool: Pool,
    evidence: Evidence,
    report: Report,
) -> Evidence:
    """The same, and what the kernel makes of its own outputs; that alone where it could not be run again."""
    pooled = await returned.cases(specification, evidence.observed, pool)
    if not pooled:
        return evidence
    cases = repeats.by_lot(exact_cases.marked(specification, [p.case for p in pooled], backend.origin))
    job = _job(specification, kernel, digest, cases, await _uploads(pool, pooled), simulated=False)
    more = await _evidence(specification, job, await _run(backend, job, pooled, pool, report), pooled, pool)
    return replace(evidence, observed=(*evidence.observed, *more.observed)) if more.observed else more


async def _pressed(
    specification: Specification,
    kernel: str,
    digest: str,
    backend: Backend,
    pool: Pool,
    evidence: Evidence,
    random: np.random.Generator,
    report: Report,
) -> list[Observed]:
    """Cases of rows that were sought because the kernel errs most there, if it is wrong in one."""
    end = anyio.current_time() + pressing.SECONDS
    for shapes in specification.verify:
        if (press := await _press(specification, shapes, evidence, pool, random)) is None:
            continue
        while press.goes_on and anyio.current_time() < end:
            await report("seeking rows that are hard on the kernel")
            given = await anyio.to_thread.run_sync(press.next)
            pooled = await pool.given([case for case, _ in given], [held for _, held in given])
            if not pooled:
                continue
            cases = exact_cases.marked(specification, [p.case for p in pooled], backend.origin)
            job = _job(specification, kernel, digest, cases, await _uploads(pool, pooled), simulated=False)
            more = await _evidence(specification, job, await _run(backend, job, pooled, pool, report), pooled, pool)
            held = {case.key: arrays for case, arrays in given}
            if broken := await anyio.to_thread.run_sync(press.broken_by, more.observed, held):
                return [broken]
    return []


async def _press(
    specification: Specification, shapes: str, evidence: Evidence, pool: Pool, random: np.random.Generator
) -> pressing.Press | None:
    """A search that knows the hardest rows so far; None where there is nothing to seek."""
    here = [one for one in evidence.observed if one.case.shapes == shapes and not one.case.probes]
    own = next((one for one in here if one.own), None)
    if own is None or (specification.transforms and not returned.drawn(specification, shapes)):
        return None
    arrays = await pool.arrays(Pooled(case=own.case, inputs_digest=own.result.inputs_digest))
    begun = await anyio.to_thread.run_sync(pressing.begun, specification, shapes, here, arrays, random)
    if begun is None:
        return None
    press, first = begun
    for one, shares in first:
        inputs = await pool.arrays(Pooled(case=one.case, inputs_digest=one.result.inputs_digest))
        press.learn(inputs, shares, pressing.FROM_A_CASE)
    return press


async def _judged(
    specification: Specification,
    kernel: str,
    digest: str,
    backend: Backend,
    pool: Pool,
    evidence: Evidence,
    report: Report,
) -> tuple[Evidence, list[Judgement]]:
    """What the gates say; where the kernel's own constants might excuse it, once it was run with others."""
    judgements = await anyio.to_thread.run_sync(_judge, specification, kernel, evidence)
    doubtful = await anyio.to_thread.run_sync(exact_cases.doubtful, judgements[-1], evidence)
    if not doubtful:
        return evidence, judgements
    for turn in range(TURNS):
        if not doubtful:
            break
        cases = [one.case.model_copy(update={"moved": turn + 1}) for one in doubtful]
        job = _job(specification, kernel, digest, cases, await _uploads(pool, doubtful), simulated=False)
        evidence = exact_cases.with_other_constants(evidence, await _run(backend, job, doubtful, pool, report))
        doubtful = await anyio.to_thread.run_sync(exact_cases.still_doubtful, evidence, doubtful)
    return evidence, await anyio.to_thread.run_sync(_judge, specification, kernel, evidence)


def _job(
    specification: Specification,
    kernel: str,
    digest: str,
    cases: Sequence[Case],
    uploads: dict[str, NDArray[Any]],
    simulated: bool,
    choices: bool = False,
) -> Job:
    """All cases, and those that are run more than once; ``simulated`` ones in more ways than a device has."""
    shapes = list(dict.fromkeys(case.shapes for case in cases))
    more = repeats.repeated(cases, kernel, simulated)
    for case in more:
        base = case.key.partition(".")[0]
        uploads |= {case.key + k[len(base) :]: a for k, a in list(uploads.items()) if k.startswith(base + "/")}
    return Job(
        purpose="verify",
        kernel_digest=digest,
        entry=specification.entry,
        chip=specification.chip,
        version=specification.nki_version,
        lnc=specification.lnc,
        shape_sets=tuple(specification.shape_sets[name] for name in shapes),
        cases=(*cases, *more),
        choices=choices,
        kernel=kernel,
        uploads=uploads,
    )


async def _uploads(pool: Pool, pooled: Sequence[Pooled]) -> dict[str, NDArray[Any]]:
    uploads: dict[str, NDArray[Any]] = {}
    for one in pooled:
        if one.case.uploaded:
            arrays = await pool.arrays(one)
            uploads |= {f"{one.case.key}/{name}": array for name, array in arrays.items()}
    return uploads


async def _run(backend: Backend, job: Job, pooled: Sequence[Pooled], pool: Pool, report: Report) -> Run:
    """The run; where the machine drew other inputs than the server, once more with the inputs sent along."""
    run = await backend.run(job, report)
    if run.failure:
        raise BackendFailed(run.failure, "Call again.")
    drawn = {result.key.partition(".")[0]: result.inputs_digest for result in run.cases if result.inputs_digest}
    strangers = [p for p in pooled if drawn.get(p.case.key, p.inputs_digest) != p.inputs_digest and not p.case.uploaded]
    if not strangers:
        return run
    await report("another NumPy draws other numbers there: sending the inputs")
    sent = {p.case.key for p in strangers}
    cases = [c.model_copy(update={"uploaded": c.uploaded or c.key.partition(".")[0] in sent}) for c in job.cases]
    uploads = dict(job.uploads)
    for one in strangers:
        arrays = await pool.arrays(one)
        for case in cases:
            if case.key.partition(".")[0] == one.case.key:
                uploads |= {f"{case.key}/{name}": array for name, array in arrays.items()}
    again = await backend.run(job.model_copy(update={"cases": tuple(cases), "uploads": uploads}), report)
    if again.failure:
        raise BackendFailed(again.failure, "Call again.")
    return again


async def _evidence(specification: Specification, job: Job, run: Run, pooled: Sequence[Pooled], pool: Pool) -> Evidence:
    """Join results with their yardsticks; what is missing counts as a failure of the kernel's."""
    traced = {trace.shapes: trace for trace in run.traces}
    traces = [traced.get(s.name, Trace(shapes=s.name, outcome="malformed")) for s in job.shape_sets]
    run = run.model_copy(update={"traces": tuple(traces)})
    results, asked = {result.key: result for result in run.cases}, {case.key: case for case in job.cases}
    untraced = {trace.shapes for trace in traces if trace.unknown}
    observed = [
        _observed(asked.get(case.key, case), repeats.result_of(results, case.key), await pool.yardstick(case), untraced)
        for case in (one.case for one in pooled)
    ] if all(trace.outcome == "ok" for trace in traces) else []  # fmt: skip
    return Evidence(
        specification,
        run,
        tuple(observed),
        tuple(repeats.poisoned(job, results)),
        tuple(repeats.again(job, results)),
        tuple(repeats.turned(job, run, observed)),
    )


def _observed(case: Case, result: CaseResult, yardstick: Yardstick, untraced: set[str]) -> Observed:
    """What only the device knows comes back as plain bytes: no program says of which format they are."""
    if case.shapes in untraced:
        wanted = [numpy_dtype(expected.dtype) for expected in yardstick.outputs]
        named = [_named(output, dtype) for output, dtype in zip(result.outputs, wanted, strict=False)]
        result = result.model_copy(update={"outputs": (*named, *result.outputs[len(named) :])})
    return Observed(case, result, yardstick)


def _named(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Bytes of the wanted width as the wanted format; anything else as it is."""
    return array.view(dtype) if array.dtype.kind == "u" and array.dtype.itemsize == dtype.itemsize else array


def _judge(specification: Specification, kernel: str, evidence: Evidence) -> list[Judgement]:
    """The gates in order, up to the first that fails."""
    judgements = [_language(specification, kernel, evidence.run.traces)]
    for gate in GATES.values():
        if judgements[-1].passed is False:
            break
        judgements.append(gate(evidence))
    return judgements


def _verdict(
    specification: Specification,
    digest: str,
    backend: Backend,
    evidence: Evidence | None,
    judgements: Sequence[Judgement],
    full: bool,
    seconds: float,
) -> Verdict:
    last = judgements[-1]
    run = evidence.run if evidence else None
    timed = evidence.timed_trace() if evidence else None
    observed = evidence.observed if evidence else ()
    errors = [j.worst_error for j in judgements if j.worst_error is not None]
    shares = [j.limit_use for j in judgements if j.limit_use is not None]
    return Verdict(
        problem=specification.name,
        problem_version=specification.version,
        kernel_digest=digest,
        instruction_digest=timed.digests[0] if timed and timed.digests else "",
        programs_digest=_programs(run) if run else "",
        artefact=timed.artefact if timed else "",
        backend=run.backend if run else backend.name,
        origin=run.origin if run else backend.origin,
        toolchain=run.toolchain if run else backend.toolchain,
        full=full,
        passed=last.passed is not False,
        gates=_results(judgements),
        worst_error=max(errors, default=None),
        limit_use=max(shares, default=None),
        tolerance=specification.tolerance,
        where=last.where if last.passed is False else None,
        heat=last.heat if last.passed is False else None,
        hint=last.hint if last.passed is False else "",
        warnings=_warnings(judgements),
        unjudged=tuple(said for judgement in judgements for said in judgement.unjudged)[:WARNINGS],
        cases=len(observed),
        families=dict(Counter("probe" if o.case.probes else o.case.family.partition("/")[0] for o in observed)),
        seconds=seconds,
    )


def _programs(run: Run) -> str:
    """One digest of the instructions at all shapes; empty where some are not known, or change from trace to trace."""
    if any(trace.unknown or len(set(trace.digests)) != 1 for trace in run.traces):
        return ""
    told = sorted((trace.shapes, trace.digests[0]) for trace in run.traces)
    return hashlib.sha256(json.dumps(told).encode()).hexdigest() if told else ""


def _warnings(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """Each once, what nobody has judged first, and the rest counted where they would bury everything else."""
    unjudged = [said for one in judgements for said in one.unjudged]
    every = list(dict.fromkeys([*unjudged, *(said for one in judgements for said in one.warnings)]))
    more = [f"And {len(every) - WARNINGS} more warnings."] if len(every) > WARNINGS else []
    return (*every[:WARNINGS], *more)


def _results(judgements: Sequence[Judgement]) -> tuple[GateResult, ...]:
    """Always nine."""
    reached = [
        GateResult(name=name, passed=j.passed, detail=j.detail, code=j.code, line=j.line)
        for name, j in zip(GATE_NAMES, judgements, strict=False)
    ]
    unreached = [GateResult(name=name, detail="Not reached.") for name in GATE_NAMES[len(reached) :]]
    return (*reached, *unreached)


def _profile(run: Run | None, shapes: str) -> Profile | None:
    return next((profile for profile in run.profiles if profile.shapes == shapes), None) if run else None
