"""One open problem as it is stored: the pinned specification, its sources, and where everything else of it lies."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from nki_anvil.backends.errors import (
    ArgumentsInvalid,
    AttemptUnknown,
    PathOutside,
    ProblemChanged,
    ProblemUnknown,
    StateDamaged,
)
from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Origin
from nki_anvil.lab import problem_file, seals, state
from nki_anvil.lab.attempt import Evidence
from nki_anvil.lab.attempts import Attempts
from nki_anvil.lab.best import BestPointer
from nki_anvil.lab.fingerprint import fingerprint
from nki_anvil.lab.guard import Guard
from nki_anvil.lab.specification import Specification

RECORD: Final = "problem.json"

NAME: Final = re.compile(problem_file.NAME)


class ProblemRecord(Record):
    """``problem.json``."""

    name: str
    specification: Specification
    backend: str
    opened_at: str
    opened_from: str
    """Absolute path that was given as reference: a module or a folder."""
    sources: dict[str, str]
    """SHA-256 of every file that the specification was made from, by absolute path."""
    finished_at: str | None = None
    """A finished problem can be taken up again; until then the Stop hook leaves it to its own sessions."""


@dataclass(frozen=True)
class Problem:
    folder: Path
    record: ProblemRecord
    attempts: Attempts = field(repr=False)

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def specification(self) -> Specification:
        return self.record.specification

    @property
    def working_file(self) -> Path:
        return Path(self.specification.kernel)

    def best(self, origin: Origin) -> BestPointer:
        return BestPointer(self.folder, origin)

    @property
    def account(self) -> Path:
        """Where it is counted what its reference and declaration cost in this workspace, under whatever name."""
        pinned = self.specification
        of = hashlib.sha256(f"{pinned.reference_digest} {pinned.declared_digest}".encode()).hexdigest()
        return seals.account(self.folder, f"{of[:32]}.{pinned.chip}")

    def guard(self, origin: Origin) -> Guard:
        return state.read_model(self.account / f"guard.{origin}.json", Guard) or Guard()

    def update_guard(self, origin: Origin, change: Callable[[Guard], Guard]) -> tuple[Guard, Guard]:
        """Apply a pure change under the lock. Returns the guard before and after."""
        with state.locked(self.account / f".guard.{origin}.lock"):
            before = self.guard(origin)
            after = change(before)
            if after != before:
                state.write_model(self.account / f"guard.{origin}.json", after)
        return before, after

    def evidence(self, digest: str) -> Evidence:
        """Where what was measured on a kernel lies: its attempt, else a folder of profiled kernels."""
        return self.attempts.of(digest) or Evidence(self.folder / "profiled" / digest, digest)

    def refuse_when_elsewhere(self, workspace: Path) -> None:
        """Raises PathOutside where the state was copied into ``workspace``: all of its paths lead to the original."""
        inside = workspace.resolve()
        if not Path(self.record.opened_from).is_relative_to(inside):
            raise PathOutside(
                f"The problem {self.name!r} was opened from {self.record.opened_from}, outside the workspace {inside}: "
                f"its state was copied from there.",
                "Open the problem's folder in this workspace under a new name.",
            )

    def refuse_when_another(self) -> None:
        """Raises AttemptUnknown where a problem of this name was opened anew since: what was judged is not of that."""
        found = read(self.folder)
        if found is None or found.opened_at != self.record.opened_at:
            raise AttemptUnknown(
                f"The problem {self.name!r} was removed and opened anew meanwhile.",
                "Call again: the kernel is stored and judged for the new one.",
            )

    def refuse_when_edited(self) -> None:
        """Raises StateDamaged where the record is none that was stored: nothing is judged by it, nor sealed anew."""
        if not seals.sealed(self.folder, RECORD, self.record):
            raise self._edited()

    def refuse_when_put_back(self) -> None:
        """Raises StateDamaged where ``problem.json`` is not the last that was stored."""
        if seals.read_last(self.folder, RECORD, lambda: read(self.folder)) is None:
            raise self._edited()

    def _edited(self) -> StateDamaged:
        return StateDamaged(
            f"{self.folder / RECORD} is not as a server with this data folder stored it last: an older nki-anvil wrote "
            f"it, or somebody else did.",
            f"Call open_problem with another name, such as {self.name[:56] + '-again'!r}: the kernel file stays as it "
            f"is, and the texts of former attempts stay in {self.folder / 'attempts'}.",
        )

    def changed(self) -> str | None:
        """The first file that is not what the specification was made from.

        By the record, and by the specification itself: neither can be told that another file is the right one.
        """
        opened_from = Path(self.record.opened_from)
        pinned = [*self.record.sources.items(), *sources(opened_from, self.specification).items()]
        return next((path for path, known in pinned if fingerprint(Path(path)) != known), None)

    def refuse_when_changed(self) -> None:
        """Raises ProblemChanged when a file that the specification was made from is not the same any more.

        Raises StateDamaged where the record that says so is another.
        """
        self.refuse_when_edited()
        if path := self.changed():
            raise ProblemChanged(
                f"{path} changed after the problem {self.name!r} was opened, and what was judged before rests on it.",
                "Put it back, or open it again with open_problem under a new name.",
            )


def read(folder: Path) -> ProblemRecord | None:
    """As it lies there, whoever wrote it. Raises StateDamaged."""
    return state.read_model(folder / RECORD, ProblemRecord)


def store(folder: Path, record: ProblemRecord) -> None:
    """Write a problem down in its folder, under seals."""
    seals.note(folder, "specification", record.specification)
    seals.replace(folder, folder / RECORD, record)


def sources(opened_from: Path, specification: Specification) -> dict[str, str]:
    """SHA-256 of the files that a specification was made from, as they were when they were read, by absolute path."""
    declared = opened_from / "problem.toml" if opened_from.is_dir() else opened_from
    found = {specification.reference: specification.reference_digest or fingerprint(Path(specification.reference))}
    if specification.declared_digest:
        found[str(declared)] = specification.declared_digest
    if (sent := specification.e2e) is not None:
        found |= {str(Path(sent.folder) / name): digest for name, digest in sent.files.items()}
    return found | specification.reference_beside


def refuse_bad_name(name: str) -> None:
    """Raises ArgumentsInvalid for what cannot be a folder everywhere."""
    if not NAME.fullmatch(name):
        raise ArgumentsInvalid(
            f"{name[:80]!r} cannot be a problem's name.",
            "Use up to 64 letters, digits, dots, dashes and underscores, a letter or digit first.",
        )


def names(root: Path) -> list[str]:
    """Of every problem with state; a folder that bears no name of one, a backup for instance, is none."""
    found = (path.parent.name for path in (root / "problems").glob(f"*/{RECORD}"))
    return sorted(name for name in found if NAME.fullmatch(name))


def unknown(name: str, known: Iterable[str]) -> ProblemUnknown:
    """The error that names the nearest."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    said = " Did you mean " if near else " Open are "
    listed = ", ".join(map(repr, near or known[:5]))
    has = f"{said}{listed}{'?' if near else '.'}" if known else ""
    return ProblemUnknown(f"There is no open problem {name[:80]!r}.{has}", "Call open_problem to open one.")
