"""``nki-anvil audit``: every stored decision of a problem made again from its record, and the evidence of the end.

It reads and never writes; a file that cannot be read is a fault like any other. It holds no lock, and files are read
one after the other: what another client writes between two of them looks like a fault, and is none when looked at
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from nki_anvil.backends.errors import StateError
from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Origin
from nki_anvil.lab import bookkeeping, diary, failures, missing, owed, seals, state
from nki_anvil.lab import receipt as receipts
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best, Holder
from nki_anvil.lab.bookkeeping import ORIGINS
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.digest import digest
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.receipt import Receipt
from nki_anvil.lab.recomputing import faults

LOOKS: Final = 5
"""Of which each finds other faults than the one before, until the last one's are told."""


class Audited(Record):
    """What was looked at, and what does not follow from its record."""

    of: str
    attempts: int = 0
    decisions: int = 0
    evidence: tuple[str, ...] = ()
    """Seals of the evidence that was checked; compare them with those you were given."""
    faults: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    """What was claimed rightly and does not stand any more."""
    confirmed: bool = True
    """Whether a server with this data folder stored it: whoever invents all of a file makes one that agrees."""
    earlier: bool = False
    """It did, and opened the problem of that name anew since."""

    @property
    def clean(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        looked = f"{self.of}: {self.decisions} decisions of {self.attempts} attempts made again from their samples"
        shown = [f"evidence {seal}" for seal in self.evidence] + ([_EARLIER] if self.earlier else [])
        found = [f"FAULT  {fault}" for fault in self.faults] + [f"OUTDATED  {claim}" for claim in self.outdated]
        found = found or ["all of it agrees" if self.confirmed else _UNCONFIRMED]
        return "\n".join([looked, *shown, *found])


_EARLIER: Final = "of an earlier opening: the problem of that name was opened anew since"
_UNCONFIRMED: Final = (
    "all of it agrees with itself, and nothing on this machine confirms it: no server with this data folder stored it. "
    "Compare its seal with one that you have from elsewhere, or verify both kernels yourself."
)


def audit(lab: Laboratory, name: str) -> Audited:
    """One open or finished problem. Only faults that a second look has as well are told, unless no look is without.

    Whoever changes a record all the time has other faults at each look. Raises ProblemUnknown, PathOutside.
    """
    found = _look(lab, lab.written(name))
    for _ in range(LOOKS - 1):
        if not found.faults:
            break
        before, found = found.faults, _look(lab, lab.written(name))
        if lasting := tuple(fault for fault in found.faults if fault in before):
            return found.model_copy(update={"faults": lasting})
    return found


def _look(lab: Laboratory, problem: Problem) -> Audited:
    attempts = list(_attempts(problem))
    decisions = [c for attempt in attempts for c in _comparisons(attempt)]
    evidence = [found for origin in ORIGINS if (found := _receipt(problem, origin))]
    return Audited(
        of=problem.folder.name,
        attempts=len(attempts),
        decisions=len(decisions),
        evidence=tuple(found.seal for found in evidence),
        faults=tuple(_faults(problem, attempts)),
        outdated=tuple(claim for found in evidence for claim in _outdated(lab.data, found, problem)),
    )


def audit_evidence(path: Path, data: Path) -> Audited:
    """An evidence file by itself, wherever it comes from, and what ``data`` knows of it. Raises StateDamaged."""
    found = receipts.written(path)
    if found is None:
        raise state.damaged(path, "there is no such file")
    stored = seals.sealed_anywhere(data, receipts.path(path.parent, found.origin).name, found)
    return Audited(
        of=str(path),
        attempts=2,
        decisions=3,
        evidence=(found.seal,),
        faults=tuple(receipts.receipt_faults(found)),
        outdated=tuple(_outdated(data, found)),
        confirmed=stored is not None,
        earlier=stored == "an earlier",
    )


def _attempts(problem: Problem) -> Iterator[Attempt]:
    """None where one cannot be read; ``_faults`` tells of it."""
    with suppress(StateError):
        yield from problem.attempts.all()


def _comparisons(attempt: Attempt) -> tuple[Comparison, ...]:
    try:
        return attempt.comparisons()
    except StateError:
        return ()


def _receipt(problem: Problem, origin: Origin) -> Receipt | None:
    try:
        return receipts.written(receipts.path(problem.folder, origin))
    except StateError:
        return None


def _faults(problem: Problem, attempts: list[Attempt]) -> Iterator[str]:
    try:
        problem.attempts.all()
    except StateError as error:
        yield error.message
    for attempt in attempts:
        try:
            yield from (f"attempt {attempt.number}: {fault}" for fault in _attempt_faults(problem, attempt))
        except StateError as error:
            yield f"attempt {attempt.number}: {error.message}"
    for kept in (bookkeeping.faults(problem, attempts), missing.faults(problem, attempts, ORIGINS)):
        try:
            yield from kept
        except StateError as error:
            yield error.message
    for origin in ORIGINS:
        try:
            yield from _origin_faults(problem, origin, attempts)
        except StateError as error:
            yield error.message


def _attempt_faults(problem: Problem, attempt: Attempt) -> Iterator[str]:
    if digest(state.read_exactly(attempt.folder / "kernel.py")) != attempt.digest:
        yield "its text is not the one that was judged"
    passed = {(v.problem_version, v.backend, v.toolchain) for v in attempt.verdicts() if _stands(attempt, v)}
    doubted = {_key(comparison) for comparison in attempt.comparisons() if _doubted(comparison)}
    for comparison in (record for record in attempt.written() if isinstance(record, Comparison)):
        if _key(comparison) not in passed | doubted and not _had_passed(problem, attempt, comparison):
            yield f"was benchmarked at {comparison.at} without a passed verdict"
        if comparison.new_digest != attempt.digest:
            yield f"its benchmark at {comparison.at} is about another kernel"
        if comparison.best_digest and problem.attempts.of(comparison.best_digest) is None:
            yield f"was compared at {comparison.at} with a kernel that is no attempt"
        yield from (f"its benchmark at {comparison.at} {fault}" for fault in _told(problem, comparison))


def _key(comparison: Comparison) -> tuple[str, str, str]:
    return comparison.problem_version, comparison.backend, comparison.toolchain


def _doubted(comparison: Comparison) -> bool:
    """It had passed when this was measured, and at a second look it did not."""
    return any(flag.startswith("failed a second look") for flag in comparison.flags)


def _passed_before(problem: Problem, verdict: receipts.Verdict) -> bool:
    """It fails now, and the diary tells that this kernel had passed: a later look, or one at its instructions."""
    told = {"event": "verified", "digest": verdict.kernel_digest, "origin": verdict.origin, "passed": True}
    return not verdict.passed and any(told.items() <= event.items() for event in diary.history(problem.folder))


def _had_passed(problem: Problem, attempt: Attempt, comparison: Comparison) -> bool:
    key = _key(comparison)
    return any(
        (v.problem_version, v.backend, v.toolchain) == key and _passed_before(problem, v) for v in attempt.verdicts()
    )


def _stands(attempt: Attempt, verdict: receipts.Verdict) -> bool:
    return not any(receipts.verdict_faults(verdict, attempt.digest))


def _told(problem: Problem, comparison: Comparison) -> Iterator[str]:
    """Its own faults; one that was taken from another attempt has to be that attempt's."""
    if comparison.same_as is None:
        yield from faults(comparison)
        return
    twin = problem.attempts.find(comparison.same_as)
    theirs = twin.comparisons() if twin else ()
    kept = comparison.outcome == "undecided"
    if not any(_twins(comparison, other) and (kept or comparison.outcome == other.outcome) for other in theirs):
        yield f"is not one of attempt {comparison.same_as}, from which it says it was taken"


def _twins(one: Comparison, other: Comparison) -> bool:
    return (one.rounds, one.latency_us, one.speedup) == (other.rounds, other.latency_us, other.speedup)


def _origin_faults(problem: Problem, origin: Origin, attempts: list[Attempt]) -> Iterator[str]:
    best = problem.best(origin).read()
    found = receipts.written(receipts.path(problem.folder, origin))
    if best is not None:
        yield from receipts.best_faults(best)
        yield from (f"best: {fault}" for fault in _holder_faults(best, attempts))
        yield from (f"baseline: {fault}" for fault in _holder_faults(best.baseline, attempts, problem))
        yield from _pointer_faults(best, attempts)
    if found is not None:
        yield from receipts.receipt_faults(found)
        yield from (f"evidence: {fault}" for fault in _evidence_faults(problem, found, attempts))


def _numbered(attempts: list[Attempt], number: int) -> Attempt | None:
    return next((attempt for attempt in attempts if attempt.number == number), None)


def _holder_faults(holder: Holder, attempts: list[Attempt], problem: Problem | None = None) -> Iterator[str]:
    """A place of honour is held by an attempt with a passed verdict; the baseline's (then with ``problem``) by one that
    had it when everything else was measured against it."""
    attempt = _numbered(attempts, holder.attempt)
    if attempt is None or attempt.digest != holder.digest:
        yield f"attempt {holder.attempt} is not the kernel {holder.digest[:12]}"
    elif not any(_stands(attempt, v) or (problem and _passed_before(problem, v)) for v in attempt.verdicts()):
        yield f"attempt {holder.attempt} has no passed verdict"


def _pointer_faults(best: Best, attempts: list[Attempt]) -> Iterator[str]:
    """The attempt holds the same comparison, unless a crash came between, and then none of that time."""
    if attempt := _numbered(attempts, best.attempt):
        stored = [c for c in _comparisons(attempt) if c.at == best.receipt.comparison.at]
        if stored and best.receipt.comparison not in stored:
            yield f"best: its receipt is not what attempt {best.attempt} has"


def _evidence_faults(problem: Problem, found: Receipt, attempts: list[Attempt]) -> Iterator[str]:
    """What was evidence once has to be in the attempts still."""
    if found.problem_version != problem.specification.version:
        yield "it is about another version of the problem"
    for shown in (found.best, found.baseline):
        attempt = _numbered(attempts, shown.attempt)
        if attempt is None or attempt.digest != shown.digest:
            yield f"attempt {shown.attempt} is another kernel now"
        elif shown.comparison.at in {c.at for c in _comparisons(attempt)} and shown.comparison not in _comparisons(
            attempt
        ):
            yield f"the benchmark of attempt {shown.attempt} is another one now"


def _outdated(data: Path, found: Receipt, problem: Problem | None = None) -> Iterator[str]:
    """Which kernels of the evidence failed since, under whatever name of the problem."""
    for shown in {shown.digest: shown for shown in (found.best, found.baseline)}.values():
        programs = [shown.verdict.programs_digest]
        failed = failures.every(data, found.problem_version, shown.digest, programs)
        known = (*failed, *_owing(problem, shown.digest))
        failure = next((verdict for verdict in known if verdict.key == shown.verdict.key), None)
        if failure and not failure.passed:
            yield (
                f"evidence: attempt {shown.attempt} failed since, at the gate {failure.failed_gate}: "
                "finish the problem again"
            )


def _owing(problem: Problem | None, digest: str) -> Iterator[receipts.Verdict]:
    """Verdicts that could not be stored with their attempt."""
    for debt in owed.left(problem.folder) if problem else ():
        if debt.verdict.kernel_digest == digest:
            yield debt.verdict
