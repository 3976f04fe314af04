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
from nki_anvil.lab.digest import SHORTEST_ACCEPTED, digest

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
                if not seals.sealed(self.folder.parent, _sealed_as(lineage.attempt), lineage):
                    raise _foreign(folder / "lineage.json")
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
    ) -> tuple[Attempt, bool]:
        """The attempt of this text, and whether it is new; a new one is stored whole before this returns."""
        full = digest(text)
        with state.locked(self.folder / ".lock"):
            known = self.of(full)
            if known is not None:
                return known, False
            number = len(self._known)
            lineage = Lineage(
                attempt=number, digest=full, at=at, parent=parent, plan=plan, shown_id=shown_id, path=path
            )
            seals.note(self.folder.parent, _sealed_as(number), lineage)
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
