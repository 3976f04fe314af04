"""The pointer to the best kernel of a problem and origin, replaced only by compare-and-swap.

It lies in the data folder as well: whoever removed it, and what was measured, had a slower kernel for baseline. It must
not know how a kernel earned it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Origin
from nki_anvil.lab import seals, state
from nki_anvil.lab.attempt import sealed_as
from nki_anvil.lab.comparison import Comparison


class Receipt(Record):
    """What a third party needs to check that a kernel earned its place."""

    at: str
    problem_version: str
    backend: str
    toolchain: str
    gate_set: int
    replaced: str | None
    """Digest of the best before."""
    comparison: Comparison


class Holder(Record):
    """A kernel in a place of honour, with the latency of the measurement that put it there (for display only)."""

    digest: str
    attempt: int
    latency_us: float


class Best(Holder):
    """``best.<origin>.json``."""

    revision: int = 1
    """How many kernels held the place, this one too."""
    receipt: Receipt
    baseline: Holder
    """The first kernel that was best and has not failed since."""


@dataclass(frozen=True)
class BestPointer:
    folder: Path
    origin: Origin

    @property
    def path(self) -> Path:
        return self.folder / f"best.{self.origin}.json"

    def read(self) -> Best | None:
        """The last that was stored, also where the file is gone or another. Raises StateDamaged."""
        found = seals.read_last(self.folder, self.path.name, self.written)
        return found or seals.read_last(self.folder, self.path.name, self._copied)

    def written(self) -> Best | None:
        """What lies there, whoever wrote it. Raises StateDamaged."""
        return state.read_model(self.path, Best)

    def _copied(self) -> Best | None:
        return state.read_model(seals.copy(self.folder, self.path.name), Best)

    def put_back(self, lost: Best) -> None:
        """Store a pointer that was lost, unless somebody else did meanwhile."""
        with state.locked(self.folder / f".best.{self.origin}.lock"):
            if self.read() in (None, lost) and self.written() != lost:
                self._write(lost)

    def depose(self, digest: str, successor: Best | None) -> bool:
        """Put ``successor``, or none, in place of the kernel with this digest. False if it is another's."""
        with state.locked(self.folder / f".best.{self.origin}.lock"):
            now = self.read()
            if now is None or now.digest != digest:
                return False
            if successor is None:
                self.path.unlink(missing_ok=True)
                seals.note_stored(self.folder, self.path.name, None)
            else:
                self._write(successor.model_copy(update={"revision": now.revision + 1}))
        return True

    def rebase(self, digest: str, successor: Holder | None) -> Holder | None:
        """Put ``successor``, or else best, in place of the baseline with this digest. None if it is another's."""
        with state.locked(self.folder / f".best.{self.origin}.lock"):
            now = self.read()
            if now is None or now.baseline.digest != digest:
                return None
            oldest = successor or Holder(digest=now.digest, attempt=now.attempt, latency_us=now.latency_us)
            self._write(now.model_copy(update={"baseline": oldest}))
        return oldest

    def swap(self, expected: str | None, holder: Holder, receipt: Receipt) -> bool:
        """Put ``holder`` in place of the kernel with digest ``expected`` (None: of none). False if it is another's.

        Why is noted under the same lock: the order of these seals is that in which kernels became best.
        """
        with state.locked(self.folder / f".best.{self.origin}.lock"):
            now = self.read()
            if (now.digest if now else None) != expected:
                return False
            new = Best(
                **holder.model_dump(),
                revision=now.revision + 1 if now else 1,
                receipt=receipt,
                baseline=now.baseline if now else holder,
            )
            seals.note_once(self.folder, sealed_as(holder.attempt), receipt.comparison)
            self._write(new)
        return True

    def _write(self, new: Best) -> None:
        seals.replace(self.folder, self.path, new, twice=True)
