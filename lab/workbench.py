"""One problem on one backend under the laboratory's rules: what every operation reads and the steps they share.

All of it is synchronous and short; the operations call it off the event loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from nki_anvil.backends.backend import Backend
from nki_anvil.backends.errors import PathOutside, PathUnwritable, ReflexionRequired
from nki_anvil.backends.run import Origin
from nki_anvil.lab import (
    budget,
    diary,
    failures,
    guard,
    heat,
    keeps,
    owed,
    programs,
    recovering,
    replacing,
    state,
    verified,
    working_file,
)
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best, BestPointer
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.guard import Guard
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.results import GuardView
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import GATE_SET, Verdict


@dataclass(frozen=True)
class Workbench:
    lab: Laboratory
    problem: Problem
    backend: Backend

    @property
    def origin(self) -> Origin:
        return self.backend.origin

    @property
    def specification(self) -> Specification:
        return self.problem.specification

    @property
    def rules(self) -> Rules:
        return self.lab.rules

    @cached_property
    def toolchain(self) -> str:
        """Looked up once per call: a backend may have to read much to say it."""
        return self.backend.toolchain

    @property
    def pointer(self) -> BestPointer:
        return self.problem.best(self.origin)

    def best(self) -> Best | None:
        return self.pointer.read()

    def best_today(self) -> Best | None:
        """Best, where it has passed under today's key."""
        best = self.best()
        verdict = self.verdict(self.problem.attempts.held(best)) if best else None
        return best if verdict and verdict.passed else None

    def fallen(self) -> tuple[int, ...]:
        """Attempts that were kept before the baseline and have failed since; none where there is no baseline."""
        best = self.best()
        return recovering.fallen(self.problem, self.origin, self.failed, best.baseline) if best else ()

    def now(self) -> datetime:
        return self.lab.clock()

    def write(self, event: diary.Event, **facts: Any) -> None:
        """Into the diary."""
        diary.record(self.problem.folder, self.now(), event, origin=self.origin, **facts)

    def refuse_when_spent(self) -> None:
        """Raises BudgetSpent where no device time is left; modelled time costs nothing."""
        if self.origin == "device":
            budget.refuse_when_spent(self.problem.account, self.rules.device_minutes_limit)

    def spend(self, seconds: float) -> None:
        """Count device time, also of work that is never finished."""
        if self.origin == "device":
            budget.add_device_seconds(self.problem.account, seconds)

    # judgements that are stored

    def verdict(self, attempt: Attempt) -> Verdict | None:
        """The full verdict under today's key, if there is one; a failure also where it could not be stored, and where
        the text, or the program that passed, failed under another name."""
        known = self._of_its_text(attempt)
        if known is None or not known.passed:
            return known
        return failures.of_program(self.lab.data, self.specification, known) or known

    def _of_its_text(self, attempt: Attempt) -> Verdict | None:
        stored = self.stored(attempt)
        if stored is not None and not stored.passed:
            return stored
        return self.failed_anywhere(attempt) or stored

    def stored(self, attempt: Attempt) -> Verdict | None:
        """The full verdict under today's key that lies with the attempt, if there is one."""
        return attempt.verdict(
            version=self.specification.version,
            backend=self.backend.name,
            toolchain=self.toolchain,
            gate_set=GATE_SET,
        )

    def told(self, attempt: Attempt) -> Verdict | None:
        """The full verdict of an attempt to which one was told: what its text failed at elsewhere is news to others."""
        return self.verdict(attempt) if self.stored(attempt) else None

    def failed_anywhere(self, attempt: Attempt) -> Verdict | None:
        """What this text failed at under any name of the problem, in any workspace, as a verdict of this one."""
        return self._failure_of(attempt.digest)

    def _failure_of(self, digest: str) -> Verdict | None:
        key = (self.specification.version, self.backend.name, self.toolchain, GATE_SET, True)
        return failures.of(self.lab.data, self.specification, digest, key)

    def passes(self, digest: str) -> bool:
        """Whether the kernel with this digest has a passed full verdict under today's key."""
        attempt = self.problem.attempts.of(digest)
        verdict = self.verdict(attempt) if attempt else None
        return verdict is not None and verdict.passed

    def failed(self, attempt: Attempt) -> bool:
        """Whether it has a failed verdict under today's key: whatever was said of it before does not hold."""
        verdict = self.verdict(attempt)
        return verdict is not None and not verdict.passed

    def comparison(self, attempt: Attempt) -> Comparison | None:
        """The newest benchmark of this origin, as it stands; of best, the one that made it best.

        None of a kernel that failed.
        """
        made = self._made(attempt)
        return self.as_it_stands(made) if made else None

    def as_it_stands(self, comparison: Comparison) -> Comparison:
        """As it is shown: without what it says of a kernel that failed since."""
        return comparison.alone if self.against_failed(comparison) else comparison

    def against_failed(self, comparison: Comparison) -> bool:
        """Whether the kernel that was best then has failed since."""
        old = self.problem.attempts.of(comparison.best_digest) if comparison.best_digest else None
        return old is not None and self.failed(old)

    def _made(self, attempt: Attempt) -> Comparison | None:
        """The same as it is stored."""
        if self.failed(attempt):
            return None
        if (best := self.best()) and best.digest == attempt.digest:
            return best.receipt.comparison
        return attempt.comparison(self.origin)

    def holds(self, attempt: Attempt, comparison: Comparison) -> bool:
        """Whether it was made by what times kernels today, and not against a kernel that failed later.

        What made best the best holds as long as it is.
        """
        if (best := self.best()) and best.digest == attempt.digest:
            return True
        today = (self.specification.version, self.backend.name, self.toolchain)
        made = (comparison.problem_version, comparison.backend, comparison.toolchain)
        return made == today and not self.against_failed(comparison)

    def heat_map(self, attempt: Attempt, verdict: Verdict) -> Path | None:
        """The picture of where a failed verdict is wrong; None where it passed or has none."""
        return attempt.heat(self.origin) if verdict.where is not None else None

    def same_as(self, attempt: Attempt, verdict: Verdict) -> int | None:
        """An earlier attempt with the same instructions."""
        same = self._there(programs.same(self.problem.folder, verdict.instruction_digest))
        return next((other.number for other in same if other.number < attempt.number), None)

    def _there(self, numbers: Iterable[int]) -> list[Attempt]:
        """Those of these attempts that nobody removed."""
        return [attempt for number in numbers if (attempt := self.problem.attempts.find(number))]

    def twin_comparison(self, attempt: Attempt, verdict: Verdict) -> tuple[int, Comparison] | None:
        """The decided benchmark of another attempt with the same instructions, as it is stored."""
        for other in self._there(programs.same(self.problem.folder, verdict.instruction_digest)):
            found = None if other.number == attempt.number else self._made(other)
            if found and found.outcome != "undecided" and self.holds(other, found):
                return other.number, found
        return None

    def keep_verdict(self, attempt: Attempt, verdict: Verdict, *, counts: bool = False) -> Verdict:
        """Store a judgement and everything that is derived from it. Returns the one that stands.

        What costs the user something comes first: a call that is broken off here has been counted and paid for. And a
        failure is noted in the data folder before anything in the workspace, whose files are anybody's, is looked at.
        What the same instructions failed at under another text, this text fails at too, and the other way round.
        """
        if not verdict.passed:
            self._charge(attempt, verdict, counts)
        self.refuse_when_gone(attempt)
        if verdict.passed:
            verdict = self._of_its_program(attempt, verdict)
            self._charge(attempt, verdict, counts)
        debt = owed.begin(self.problem.folder, attempt.number, verdict)
        standing = attempt.add_verdict(verdict)
        if verdict.heat is not None:
            title = f"Attempt {attempt.number}, output {verdict.heat.output} {list(verdict.heat.shape)}"
            attempt.keep_heat(self.origin, heat.draw(verdict.heat, title))
        self.write(
            "verified", attempt=attempt.number, digest=attempt.digest, passed=verdict.passed, gate=verdict.failed_gate,
            toolchain=verdict.toolchain,
        )  # fmt: skip
        self.lab.changed(self.problem.name, "attempt", attempt.number)
        standing = self._follow(attempt, standing, counts=counts)
        owed.end(self.problem.folder, debt)
        return standing

    def _charge(self, attempt: Attempt, verdict: Verdict, counts: bool) -> None:
        """What a verdict costs, in the data folder: the failure that it is, the guard's count and the time."""
        if not verdict.passed:
            failures.note(self.lab.data, self.specification, verdict)
        if counts:
            self.count_failure(attempt, guard.weight(verdict))
        self.spend(verdict.seconds)

    def refuse_when_gone(self, attempt: Attempt) -> None:
        """Raises AttemptUnknown where the problem's state, or the attempt's, is another's by now."""
        self.problem.refuse_when_another()
        attempt.refuse_when_gone()

    def _follow(self, attempt: Attempt, standing: Verdict, *, counts: bool = False) -> Verdict:
        """Do what follows from a stored verdict; done again it changes nothing. Returns the one that stands."""
        if standing.passed:
            programs.note(self.problem.folder, standing.instruction_digest, attempt.number)
            late = self._of_its_program(attempt, standing)
            if late is not standing:  # it failed for another client in this very moment
                return self.keep_verdict(attempt, late, counts=counts)
            standing = self._note_passed(attempt, standing)
        if standing.passed:
            return standing
        self.depose(attempt)
        if standing.condemns_program:
            self._condemn(attempt, standing)
        return standing

    def _note_passed(self, attempt: Attempt, verdict: Verdict) -> Verdict:
        """Tell the hooks' file, unless another client's look failed since. Returns the verdict that stands.

        Under the attempt's lock: who stores a failure after this was read tells of it after this was told.
        """
        with attempt.changing():
            standing = self.verdict(attempt) or verdict
            if standing.passed:
                self.note_verified(passed=attempt.digest)
        return standing

    def catch_up(self) -> None:
        """Draw the conclusions that a server was killed over, and store a failure that could not be stored.

        A passed verdict that never came to be stored has no consequences.
        """
        for debt in owed.left(self.problem.folder):
            attempt = self.problem.attempts.find(debt.attempt)
            if attempt is None or attempt.digest != debt.verdict.kernel_digest:
                continue
            stored = debt.verdict.passed or self._stored(attempt, debt.verdict)
            standing = self.verdict(attempt)
            if standing is not None and (debt.verdict.passed or not standing.passed):
                self._follow(attempt, standing)
                if stored:
                    owed.end(self.problem.folder, debt)

    def _stored(self, attempt: Attempt, failure: Verdict) -> bool:
        """Whether a failure is with its attempt now."""
        try:
            attempt.add_verdict(failure)
        except PathUnwritable:
            return False
        return True

    def _of_its_program(self, attempt: Attempt, verdict: Verdict) -> Verdict:
        """A passed verdict as it is, unless another attempt with the same instructions failed under the same key."""
        if not verdict.passed:
            return verdict
        for other in self._there(programs.wrong(self.problem.folder, verdict.programs_digest)):
            found = self._of_its_text(other)
            if found is not None and found.condemns_program and found.programs_digest == verdict.programs_digest:
                return found.passed_on(other.number, attempt.digest, verdict.seconds)
        return failures.of_program(self.lab.data, self.specification, verdict) or verdict

    def _condemn(self, attempt: Attempt, verdict: Verdict) -> None:
        """Every other attempt that passed with the same instructions fails as this one did."""
        programs.note_wrong(self.problem.folder, verdict.programs_digest, attempt.number)
        for twin in self._there(programs.same(self.problem.folder, verdict.instruction_digest)):
            known = self._of_its_text(twin)
            if known is not None and known.passed and known.programs_digest == verdict.programs_digest:
                self.keep_verdict(twin, verdict.passed_on(attempt.number, twin.digest))

    def depose(self, attempt: Attempt) -> None:
        """A kernel that failed a later look is best no more; whoever was before it, and did not, is best again.

        Nor is anything measured against it: the baseline is the oldest that was best and did not fail.
        """
        falling: Attempt | None = attempt
        while falling is not None:
            falling = self._replace(falling)
        self.note_verified(failed=attempt.digest)

    def let_fall(self) -> None:
        """Who holds a place and failed since, under another name of the problem for instance, holds it no more."""
        if falling := self._failed_holder():
            self.depose(falling)

    def _replace(self, attempt: Attempt) -> Attempt | None:
        """Take its places from a kernel that failed. Returns who holds one now, and failed in this very moment."""
        successor = recovering.rightful(self.problem, self.origin, self.failed)
        if self.pointer.depose(attempt.digest, successor):
            self.write("deposed", attempt=attempt.number, digest=attempt.digest, best=successor and successor.digest)
            self.lab.changed(self.problem.name, "best", successor.attempt if successor else None)
        oldest = recovering.oldest(self.problem, self.origin, self.failed)
        if baseline := self.pointer.rebase(attempt.digest, oldest):
            self.write("baseline", attempt=baseline.attempt, digest=baseline.digest, replaced=attempt.digest)
            self.lab.changed(self.problem.name, "best", baseline.attempt)
        return self._failed_holder()

    def _failed_holder(self) -> Attempt | None:
        now = self.pointer.read()
        held = {now.digest, now.baseline.digest} if now else set[str]()
        holders = self._there([now.attempt, now.baseline.attempt]) if now else []
        return next((one for one in holders if one.digest in held and self.failed(one)), None)

    def note_verified(self, passed: str | None = None, *, failed: str | None = None, still_open: bool = True) -> None:
        """Tell the hooks' file."""
        verified.note(
            self.lab.root,
            self.problem.name,
            self.specification.kernel,
            passed=passed,
            failed=failed,
            best=self._digests_of_best,
            sources=self.problem.record.sources,
            begun=self.problem.record.opened_at,
            still_open=still_open,
        )

    def _digests_of_best(self) -> tuple[str, ...]:
        origins: tuple[Origin, ...] = ("device", "modelled")
        pointers = (self.problem.best(origin).read() for origin in origins)
        return tuple(best.digest for best in pointers if best)

    # the guard

    def guard(self) -> Guard:
        return self.problem.guard(self.origin)

    def refuse_when_closed(self) -> None:
        """Raises ReflexionRequired, unless the guard only advises here."""
        now = self.guard()
        if now.closed and self.rules.guard_refuses:
            asked = self._asked(now)
            raise ReflexionRequired(
                f"The guard is closed by {self._closing(now)}: {now.why}.",
                f"Call record_reflexion for attempt {asked}; that alone opens it.",
            )

    def _asked(self, now: Guard) -> int | None:
        """The attempt whose reflexion opens a closed guard: here the newest, where another name's kernel closed it."""
        if now.closed_by is None:
            return None
        closing = self.problem.attempts.of(now.closed_by)
        return closing.number if closing else self.problem.attempts.newest().number

    def _closing(self, now: Guard) -> str:
        closing = self.problem.attempts.of(now.closed_by or "")
        return f"attempt {closing.number}" if closing else "a kernel under another name of this problem"

    def count_failure(self, attempt: Attempt, thirds: int) -> bool:
        """Returns whether it closed the guard."""
        allowed = self.rules.failures_before_reflexion
        return self._moved(lambda now: guard.failed(now, attempt.digest, thirds, allowed=allowed))

    def count_failures(self, version: str, kernels: Iterable[str]) -> None:
        """One failure, where one of these kernels failed at this version of the problem and has not counted."""
        allowed, counted = self.rules.failures_before_reflexion, self.guard().counted
        failed = next((one for one in kernels if one not in counted and self._failed_at(version, one)), None)
        if failed:
            self._moved(lambda now: guard.failed(now, failed, guard.FAILURE, allowed=allowed))

    def _failed_at(self, version: str, kernel: str) -> bool:
        return any(found.origin == self.origin for found in failures.every(self.lab.data, version, kernel))

    def count_regression(self, attempt: Attempt, speedup: float) -> bool:
        """Returns whether it closed the guard."""
        allowed, threshold = self.rules.failures_before_reflexion, self.rules.regression_threshold
        return self._moved(
            lambda now: guard.regressed(now, attempt.digest, speedup, allowed=allowed, threshold=threshold)
        )

    def note_keep(self, kept: Comparison) -> None:
        """A kernel became best: whether that is progress is told of it when it counts."""
        keeps.note(self.problem.account, self.origin, kept, lambda digest: self._failure_of(digest) is None)

    def count_keep(self, attempt: Attempt) -> None:
        """Start the count again, where the keep was progress and has not counted yet."""
        if keeps.taken(self.problem.account, self.origin, attempt.digest):
            self._moved(guard.kept)

    def count_reflexion(self, attempt: Attempt) -> None:
        known = [each.digest for each in self.problem.attempts.all()]

        def reflected(now: Guard) -> Guard:
            about = now.closed_by if self._asked(now) == attempt.number else attempt.digest
            return guard.reflected(now, about or attempt.digest, known)

        self._moved(reflected)

    def _moved(self, change: guard.Change) -> bool:
        before, after = self.problem.update_guard(self.origin, change)
        if before.closed != after.closed:
            event: diary.Event = "guard_closed" if after.closed else "guard_opened"
            self.write(event, attempt=self._asked(after if after.closed else before))
        return after.closed and not before.closed

    def guard_view(self, origin: Origin | None = None) -> GuardView:
        """The guard as it is shown, of this bench's origin where none is named."""
        now = self.problem.guard(origin or self.origin)
        asked = self._asked(now)
        elsewhere = "" if now.closed_by is None or self.problem.attempts.of(now.closed_by) else ", under another name"
        return GuardView(
            state="closed" if now.closed else "open",
            failures=round(now.failures, 2),
            allowed=self.rules.failures_before_reflexion,
            attempt=asked,
            asks=f"record_reflexion for attempt {asked}: {now.why}{elsewhere}" if now.closed else "",
        )

    # the working file

    def restore(self, attempt: Attempt, *, is_working_file: bool) -> str | None:
        """Put best back if the judged kernel was the working file and still is. Returns the path if it was."""
        best = self.best()
        if not (self.rules.auto_restore and is_working_file and best):
            return None
        text = self.problem.attempts.held(best).text()
        with state.locked(self.problem.folder / ".working.lock"):
            try:
                path = working_file.to_write(self.lab.workspace, self.problem.working_file)
            except PathOutside:  # somebody put a link there meanwhile
                return None
            restored = replacing.restore(path, attempt.digest, text, self.problem.folder)
        if not restored:
            return None
        self.write("restored", attempt=attempt.number, best=best.digest)
        return self.lab.shown(self.problem.working_file)

    def keep_unsaved(self) -> None:
        """Make attempts of what the user wrote to a file in whose place best was put."""
        for text in replacing.unsaved(self.problem.folder):
            self.problem.attempts.take(text, at=self.now().isoformat(), path=str(self.problem.working_file))


def workbench(lab: Laboratory, name: str) -> Workbench:
    """All that an operation on an open problem needs.

    Raises ProblemUnknown, PathOutside, ProblemChanged, BackendUnsupported.
    """
    problem = lab.problem(name)
    problem.refuse_when_changed()
    backend = lab.backend_named(problem.record.backend)
    bench = Workbench(lab, problem, backend)
    recovering.recover(problem, bench.origin, bench.failed)
    bench.catch_up()
    bench.keep_unsaved()
    lab.attend(name)
    return bench
