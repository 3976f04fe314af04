"""One kernel tried on one problem, and everything that was judged and measured on it, in its folder under seals.

It must not know what a judgement means.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from nki_anvil.backends.errors import AttemptUnknown, PathOutside, StateDamaged
from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Profile
from nki_anvil.lab import seals, state
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.digest import digest, shorten
from nki_anvil.lab.verdict import Verdict

RecordT = TypeVar("RecordT", bound=Record)


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
    timeline_digest: str = ""
    """SHA-256 of the file beside it."""


class Profiles(Record):
    """``profile.json``: one per backend and toolchain; timelines lie beside it."""

    profiles: tuple[StoredProfile, ...] = ()


class Picture(Record):
    """What is sealed of a picture."""

    digest: str
    """SHA-256 of its text."""

    @classmethod
    def of(cls, text: str) -> Picture:
        return cls(digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


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
        text = profile.timeline or "[]"
        bare = StoredProfile(
            backend=backend,
            toolchain=toolchain,
            profile=profile.model_copy(update={"timeline": ""}),
            timeline_digest=_sha256(text),
        )
        with self.changing():
            state.write_text(self.timeline(profile.origin), text)
            others = tuple(stored for stored in self.profiles() if stored.backend != backend)
            seals.write(self._problem, self.folder / "profile.json", Profiles(profiles=(*others, bare)))

    @property
    def _problem(self) -> Path:
        return self.folder.parent.parent

    def trace(self, origin: str) -> str | None:
        """The timeline as a profile left it; None where it is gone, or is no profile's. Raises PathOutside."""
        path = self.timeline(origin)
        text = state.read_exactly(path) if path.is_file() else None
        left = {stored.timeline_digest for stored in self.profiles() if stored.profile.origin == origin}
        return text if text is not None and _sha256(text) in left else None

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
        return sealed_as(self.number)

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

    def heat(self, origin: str) -> Path | None:
        """The picture of where its last failed verdict of this origin was wrong, if it has one that was drawn here."""
        path = self._heat(origin)
        try:
            drawn = Picture.of(state.read_exactly(path))
        except (PathOutside, StateDamaged):
            return None
        return path if seals.sealed(self._problem, self.sealed_as, drawn) else None

    def keep_heat(self, origin: str, picture: str) -> None:
        """An SVG, in place of the one before."""
        seals.note_once(self._problem, self.sealed_as, Picture.of(picture))
        state.write_text(self._heat(origin), picture)

    def _heat(self, origin: str) -> Path:
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

    def place(self, comparison: Comparison) -> int:
        """Less than that of any that was stored later in any attempt, and of any that became best after it did."""
        return seals.place(self._problem, self.sealed_as, comparison)

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


def sealed_as(number: int) -> str:
    """What judgements of the attempt with this number are sealed as."""
    return f"attempt {number}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def short_name(attempt: Attempt) -> str:
    """As it is shown: number and shortened digest."""
    return f"attempt {attempt.number} ({shorten(attempt.digest)})"
