"""The attempts of one problem: numbered folders that are never changed back, one per kernel digest."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from nki_anvil.backends.errors import AttemptUnknown, StateDamaged
from nki_anvil.lab import seals, state
from nki_anvil.lab.attempt import Attempt, Lineage
from nki_anvil.lab.best import Holder
from nki_anvil.lab.digest import SHORTEST_ACCEPTED, digest, shorten

DIGITS: Final = 4
"""Of a folder's name; more attempts than that take more digits."""

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

    A number is given once: by the seals, not by the folders, which anybody can remove. Otherwise what was sealed of one
    kernel would be believed of the next.

    Lineages never change once written, so those that were read are remembered, and a look costs what is new. Where
    the last of them is another file, somebody began the folder anew, and all are read again, as where one that is
    asked for is no longer there.
    """

    folder: Path
    _known: dict[int, Attempt] = field(default_factory=dict[int, Attempt])
    _numbers: dict[str, int] = field(default_factory=dict[str, int])
    _next: int = 0
    """The first that was never given, as far as was looked."""
    _gone: set[int] = field(default_factory=set[int])
    """Given, and not there: removed, or of a server that was killed over it."""
    _last: Attempt | None = None
    _mark: Mark = None
    """Of the last one known."""
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def all(self) -> list[Attempt]:
        """Those that are there, by number. Raises StateDamaged, and PathOutside where somebody put a link in the
        folder's place."""
        known = self._look()
        if not all(attempt.folder.is_dir() for attempt in known.values()):
            known = self._anew()
        return [known[number] for number in sorted(known)]

    def _look(self) -> dict[int, Attempt]:
        state.refuse_links(self.folder)
        with self._reading:
            if self._last and _mark(self._last.folder) != self._mark:
                self._forget()
            while self._given(self._next):
                self._gone.add(self._next)
                self._next += 1
            for number in sorted(number for number in self._gone if self._place(number).is_dir()):
                self._remember(self._read(number))
            return dict(self._known)

    def _anew(self) -> dict[int, Attempt]:
        """Where one was removed all are read again: its kernel may have had another number before."""
        with self._reading:
            self._forget()
        return self._look()

    def _forget(self) -> None:
        self._known, self._numbers, self._gone, self._next, self._last = {}, {}, set(), 0, None

    def _given(self, number: int) -> bool:
        sealed = seals.newest(self.folder.parent, _sealed_as(number)) is not None
        return sealed or self._place(number).is_dir()

    def _read(self, number: int) -> Attempt:
        path = self._place(number) / "lineage.json"
        if self._last is None or number > self._last.number:
            self._mark = _mark(path.parent)
        lineage = state.read_model(path, Lineage)
        if lineage is None or lineage.attempt != number:
            raise state.damaged(path, "it is missing or names another attempt")
        if not seals.sealed(self.folder.parent, _sealed_as(number), lineage):
            raise _foreign(path)
        return Attempt(path.parent, lineage.digest, lineage)

    def _remember(self, attempt: Attempt) -> None:
        """Of two with one text, as where the first was put back, the later one is meant."""
        self._known[attempt.number] = attempt
        self._gone.remove(attempt.number)
        self._numbers[attempt.digest] = max(attempt.number, self._numbers.get(attempt.digest, 0))
        if self._last is None or attempt.number > self._last.number:
            self._last = attempt

    def find(self, number: int) -> Attempt | None:
        """None where there is none, or it is gone."""
        found = self._look().get(number)
        return found if found is None or found.folder.is_dir() else self._anew().get(number)

    def get(self, number: int) -> Attempt:
        """Raises AttemptUnknown."""
        found = self.find(number)
        if found is not None:
            return found
        known = self._look()
        if number in self._gone:
            raise AttemptUnknown(
                f"Attempt {number} is gone: {self._place(number)} was removed.",
                "Put the folder back, or call open_problem with another name: the kernel file stays as it is.",
            )
        has = f"0 to {max(known)}" if known else "none yet"
        raise AttemptUnknown(
            f"There is no attempt {number}: this problem has {has}.", "Call problem_status for the list."
        )

    def newest(self) -> Attempt:
        """Raises AttemptUnknown where there is none."""
        known = self.all()
        return known[-1] if known else self.get(0)

    def held(self, holder: Holder) -> Attempt:
        """The attempt in a place of honour. Raises AttemptUnknown where another kernel bears its number, which was
        possible before numbers were given once."""
        found = self.get(holder.attempt)
        if found.digest != holder.digest:
            raise AttemptUnknown(
                f"Attempt {holder.attempt} is not the kernel {shorten(holder.digest)}, whose place it has.",
                "Call open_problem with another name: the kernel file stays as it is.",
            )
        return found

    def of(self, full_digest: str) -> Attempt | None:
        """The attempt of a whole digest."""
        self._look()
        number = self._numbers.get(full_digest)
        if number is not None and self.find(number) is None:
            number = self._numbers.get(full_digest)  # of an earlier one with this text
        return None if number is None else self._known.get(number)

    def named(self, prefix: str) -> Attempt:
        """The attempt whose digest begins with ``prefix``, from eight characters if unique. Raises AttemptUnknown."""
        found = {attempt.digest: attempt for attempt in self.all() if attempt.digest.startswith(prefix.lower())}
        if len(prefix) < SHORTEST_ACCEPTED or len(found) != 1:
            why = "is too short" if len(prefix) < SHORTEST_ACCEPTED else f"names {len(found) or 'no'} attempts"
            raise AttemptUnknown(
                f"The digest {prefix!r} {why}.",
                f"Give at least {SHORTEST_ACCEPTED} characters of a digest from problem_status.",
            )
        return next(iter(found.values()))

    def take(
        self,
        text: str,
        *,
        at: str,
        parent: str | None = None,
        plan: str | None = None,
        shown_id: str | None = None,
        path: str | None = None,
    ) -> tuple[Attempt, bool]:
        """The attempt of this text, and whether it is new; a new one is stored whole before this returns."""
        full = digest(text)
        with state.locked(seals.path(self.folder.parent).with_name(".attempts.lock")):
            known = self.of(full)
            if known is not None:
                return known, False
            number = self._next
            lineage = Lineage(
                attempt=number, digest=full, at=at, parent=parent, plan=plan, shown_id=shown_id, path=path
            )
            seals.note(self.folder.parent, _sealed_as(number), lineage)
            self._store(text, lineage)
        return self.get(number), True

    def _store(self, text: str, lineage: Lineage) -> None:
        """Fill a folder aside, then give it its number in one rename: an attempt is there whole or not at all."""
        with state.writable(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
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


def _foreign(lineage: Path) -> StateDamaged:
    return StateDamaged(
        f"{lineage} is not as a server with this data folder stored it: an older nki-anvil or somebody else wrote it.",
        "Put the file back as it was, or call open_problem with another name: the kernel file stays as it is.",
    )


def _sealed_as(number: int) -> str:
    return f"lineage {number}"


def _sync(folder: Path) -> None:
    """Make a rename last through a power failure, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
