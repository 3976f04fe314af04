"""The attempts of one problem: numbered folders that are never changed back, one per kernel digest.

Everything that was measured on a kernel lies in its folder. It must not know what a judgement means.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from nki_anvil.backends.errors import AttemptUnknown, BudgetSpent
from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Profile
from nki_anvil.lab import seals, state
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.digest import SHORTEST_ACCEPTED, digest, shorten
from nki_anvil.lab.verdict import Verdict

RecordT = TypeVar("RecordT", bound=Record)

DIGITS: Final = 4
"""Of a folder's name; more attempts than that take more digits."""


class Lineage(Record):
    """Where an attempt comes from. Written once, with the kernel, before anything is done with it."""

    attempt: int
    digest: str
    at: str
    """ISO 8601, UTC."""
    parent: str | None = None
    """Digest of the kernel it was made from."""
    plan: str | None = None
    shown_id: str | None = None
    """Of the memory answer that inspired it."""
    path: str | None = None
    """The file it was read from; None when it was given as source."""


class Verdicts(Record):
    """``verdict.json``: one verdict per key (problem version, backend, toolchain, gate set)."""

    verdicts: tuple[Verdict, ...] = ()


class Benchmarks(Record):
    """``benchmark.json``: every comparison, oldest first, with raw samples."""

    comparisons: tuple[Comparison, ...] = ()


class StoredProfile(Record):
    backend: str
    toolchain: str
    profile: Profile


class Profiles(Record):
    """``profile.json``: one per backend and toolchain; timelines lie beside it."""

    profiles: tuple[StoredProfile, ...] = ()


class Reflexion(Record):
    """The diary of one attempt: what was thought, and what the record says happened."""

    at: str
    diagnosis: str
    change: str
    expected: str
    lesson: str
    expected_speedup: float | None = None
    avoid: str = ""
    try_next: str = ""
    outcome: str = ""
    speedup: float | None = None
    origin: str = ""


class Reflexions(Record):
    """``reflexion.json``: oldest first; the last one counts."""

    reflexions: tuple[Reflexion, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """A folder that holds one kernel text and what was measured on it."""

    folder: Path
    digest: str

    def text(self) -> str:
        """As it was given. Raises StateDamaged where the file holds another kernel, which nobody has judged."""
        path = self.folder / "kernel.py"
        found = state.read_exactly(path)
        if digest(found) != self.digest:
            raise state.damaged(path, "it is not the kernel that was stored there")
        return found

    @contextlib.contextmanager
    def changing(self) -> Generator[None]:
        """Around whatever is added to the folder."""
        with state.locked(self.folder / ".lock"):
            yield

    def profiles(self) -> tuple[StoredProfile, ...]:
        found = seals.read(self._problem, self.folder / "profile.json", Profiles)
        return found.profiles if found else ()

    def add_profile(self, backend: str, toolchain: str, profile: Profile) -> None:
        """Keep a profile, in place of one of the same backend; its timeline goes into a file of its own."""
        bare = StoredProfile(backend=backend, toolchain=toolchain, profile=profile.model_copy(update={"timeline": ""}))
        with self.changing():
            state.write_text(self.timeline(profile.origin), profile.timeline or "[]")
            others = tuple(stored for stored in self.profiles() if stored.backend != backend)
            seals.write(self._problem, self.folder / "profile.json", Profiles(profiles=(*others, bare)))

    @property
    def _problem(self) -> Path:
        return self.folder.parent.parent

    def timeline(self, origin: str) -> Path:
        """Trace-event JSON."""
        return self.folder / f"timeline.{origin}.json"

    def picture(self, origin: str) -> Path:
        """The same, drawn."""
        return self.folder / f"timeline.{origin}.svg"


@dataclass(frozen=True)
class Attempt(Evidence):
    """One kernel tried on one problem."""

    lineage: Lineage

    @property
    def number(self) -> int:
        return self.lineage.attempt

    @property
    def sealed_as(self) -> str:
        """What judgements of it are sealed as."""
        return f"attempt {self.number}"

    @contextlib.contextmanager
    def changing(self) -> Generator[None]:
        """Raises AttemptUnknown as ``refuse_when_gone`` does."""
        self.refuse_when_gone()
        with super().changing():
            yield

    def refuse_when_gone(self) -> None:
        """Raises AttemptUnknown where the folder is gone or another kernel's: what was measured is not of that one."""
        found = state.read_model(self.folder / "lineage.json", Lineage)
        if found is None or found.digest != self.digest:
            raise AttemptUnknown(
                f"{short_name(self).capitalize()} is gone: the problem's state was removed meanwhile.",
                "Call again: the kernel is stored and judged anew.",
            )

    def verdicts(self) -> tuple[Verdict, ...]:
        """Those that a server stored: what somebody else wrote into the file is none, and ``forged`` tells of it."""
        return self._sealed(self._written_verdicts())

    def _written_verdicts(self) -> tuple[Verdict, ...]:
        found = state.read_model(self.folder / "verdict.json", Verdicts)
        return found.verdicts if found else ()

    def verdict(self, *, version: str, backend: str, toolchain: str, gate_set: int) -> Verdict | None:
        """The full verdict on this kernel under this key."""
        wanted = (version, backend, toolchain, gate_set, True)
        own = (verdict for verdict in self.verdicts() if verdict.kernel_digest == self.digest)
        return next((verdict for verdict in own if verdict.key == wanted), None)

    def add_verdict(self, verdict: Verdict) -> Verdict:
        """Keep a verdict, in place of one with the same key unless that one failed. Returns the one that is kept.

        Two clients may look at one kernel at once, and what failed one look is not right because it passed another.
        """
        with self.changing():
            known = self.verdicts()
            failed = next((other for other in known if other.key == verdict.key and not other.passed), None)
            if failed is not None:
                return failed
            others = tuple(other for other in known if other.key != verdict.key)
            self._seal(verdict)
            state.write_model(self.folder / "verdict.json", Verdicts(verdicts=(*others, verdict)))
        return verdict

    def heat(self, origin: str) -> Path:
        """The picture of where its last failed verdict of this origin was wrong, if it has one."""
        return self.folder / f"heat.{origin}.svg"

    def comparisons(self) -> tuple[Comparison, ...]:
        """As ``verdicts``."""
        return self._sealed(self._written_comparisons())

    def _written_comparisons(self) -> tuple[Comparison, ...]:
        found = state.read_model(self.folder / "benchmark.json", Benchmarks)
        return found.comparisons if found else ()

    def comparison(self, origin: str) -> Comparison | None:
        """The newest of this kernel and origin."""
        own = (found for found in reversed(self.comparisons()) if found.new_digest == self.digest)
        return next((found for found in own if found.origin == origin), None)

    def add_comparison(self, comparison: Comparison) -> None:
        with self.changing():
            self._seal(comparison)
            state.write_model(self.folder / "benchmark.json", Benchmarks(comparisons=(*self.comparisons(), comparison)))

    def reflexions(self) -> tuple[Reflexion, ...]:
        """As ``verdicts``."""
        return self._sealed(self._written_reflexions())

    def _written_reflexions(self) -> tuple[Reflexion, ...]:
        found = state.read_model(self.folder / "reflexion.json", Reflexions)
        return found.reflexions if found else ()

    def written(self) -> tuple[Record, ...]:
        """Every judgement that lies here, whoever wrote it."""
        return (*self._written_verdicts(), *self._written_comparisons(), *self._written_reflexions())

    def forged(self) -> bool:
        """Whether a judgement lies here that no server stored."""
        return len(self._sealed(self.written())) < len(self.written())

    def _seal(self, record: Record) -> None:
        """What another server sealed before it was killed is not sealed again."""
        seals.note_once(self._problem, self.sealed_as, record)

    def _sealed(self, records: tuple[RecordT, ...]) -> tuple[RecordT, ...]:
        of = self.sealed_as
        return tuple(record for record in records if seals.sealed(self._problem, of, record))

    def add_reflexion(self, reflexion: Reflexion) -> None:
        with self.changing():
            self._seal(reflexion)
            state.write_model(self.folder / "reflexion.json", Reflexions(reflexions=(*self.reflexions(), reflexion)))


Mark = tuple[int, int, int] | None
"""Of a file: device, inode and time of change in ns. None where there is none."""


def _mark(folder: Path) -> Mark:
    try:
        found = (folder / "lineage.json").stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


@dataclass
class Attempts:
    """All attempts of one problem, shared by every process that works on it.

    Lineages never change once written, so those that were read are remembered, and a look costs what is new. Where
    the last of them is another file, somebody began the folder anew, and all are read again.
    """

    folder: Path
    _known: list[Attempt] = field(default_factory=list[Attempt])
    _numbers: dict[str, int] = field(default_factory=dict[str, int])
    _mark: Mark = None
    """Of the last one known."""
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def all(self) -> list[Attempt]:
        """By number. Raises StateDamaged, and PathOutside where somebody put a link in the folder's place."""
        state.refuse_links(self.folder)
        with self._reading:
            if self._known and _mark(self._known[-1].folder) != self._mark:
                self._known, self._numbers = [], {}
            while (folder := self._place(len(self._known))).is_dir():
                self._mark = _mark(folder)
                lineage = state.read_model(folder / "lineage.json", Lineage)
                if lineage is None or lineage.attempt != len(self._known):
                    raise state.damaged(folder / "lineage.json", "it is missing or names another attempt")
                self._numbers.setdefault(lineage.digest, lineage.attempt)
                self._known.append(Attempt(folder, lineage.digest, lineage))
            return list(self._known)

    def get(self, number: int) -> Attempt:
        """Raises AttemptUnknown."""
        known = self.all()
        if not 0 <= number < len(known):
            has = f"0 to {len(known) - 1}" if known else "none yet"
            raise AttemptUnknown(
                f"There is no attempt {number}: this problem has {has}.", "Call problem_status for the list."
            )
        return known[number]

    def of(self, full_digest: str) -> Attempt | None:
        """The attempt of a whole digest."""
        known = self.all()
        number = self._numbers.get(full_digest)
        return None if number is None else known[number]

    def named(self, prefix: str) -> Attempt:
        """The attempt whose digest begins with ``prefix``, from eight characters if unique. Raises AttemptUnknown."""
        found = [attempt for attempt in self.all() if attempt.digest.startswith(prefix.lower())]
        if len(prefix) < SHORTEST_ACCEPTED or len(found) != 1:
            why = "is too short" if len(prefix) < SHORTEST_ACCEPTED else f"names {len(found) or 'no'} attempts"
            raise AttemptUnknown(
                f"The digest {prefix!r} {why}.",
                f"Give at least {SHORTEST_ACCEPTED} characters of a digest from problem_status.",
            )
        return found[0]

    def take(
        self,
        text: str,
        *,
        at: str,
        parent: str | None = None,
        plan: str | None = None,
        shown_id: str | None = None,
        path: str | None = None,
        limit: int | None = None,
    ) -> tuple[Attempt, bool]:
        """The attempt of this text, and whether it is new; a new one is stored whole before this returns.

        Raises BudgetSpent when there are ``limit`` before it, unless it was judged already: a text that was only kept,
        so that it is not lost, is no more than one that nobody has seen.
        """
        full = digest(text)
        with state.locked(self.folder / ".lock"):
            known = self.of(full)
            number = known.number if known else len(self._known)
            if limit is not None and number >= limit and not (known and known.verdicts()):
                raise BudgetSpent(
                    f"All {limit} attempts of this problem are spent.",
                    "Call finish_problem, or ask a person to raise NKI_ANVIL_ATTEMPTS_LIMIT.",
                )
            if known is not None:
                return known, False
            lineage = Lineage(
                attempt=number, digest=full, at=at, parent=parent, plan=plan, shown_id=shown_id, path=path
            )
            seals.note(self.folder.parent, f"lineage {number}", lineage)
            self._store(text, lineage)
        return self.get(number), True

    def _store(self, text: str, lineage: Lineage) -> None:
        """Fill a folder aside, then give it its number in one rename: an attempt is there whole or not at all."""
        with state.writable(self.folder):
            aside = Path(tempfile.mkdtemp(prefix=".new-", dir=self.folder))
            try:
                state.write_text(aside / "kernel.py", text)
                state.write_model(aside / "lineage.json", lineage)
                aside.chmod(0o755)
                aside.rename(self._place(lineage.attempt))
            finally:
                shutil.rmtree(aside, ignore_errors=True)
            _sync(self.folder)

    def _place(self, number: int) -> Path:
        return self.folder / f"{number:0{DIGITS}d}"


def _sync(folder: Path) -> None:
    """Make a rename last through a power failure, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def short_name(attempt: Attempt) -> str:
    """As it is shown: number and shortened digest."""
    return f"attempt {attempt.number} ({shorten(attempt.digest)})"
