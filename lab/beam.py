"""The beam of a search: the kernels worth expanding next, kept between calls, without two that are the same program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Origin
from nki_anvil.lab import seals, state


class Entry(Record):
    """A kernel that passed, with its latency in the comparison that let it in."""

    digest: str
    attempt: int
    program: str
    """Instruction digest."""
    latency_us: float


class Beam(Record):
    """``beam.<origin>.json``: fastest first."""

    entries: tuple[Entry, ...] = ()


def read(folder: Path, origin: Origin) -> Beam:
    return seals.read(folder, path(folder, origin), Beam) or Beam()


def path(folder: Path, origin: Origin) -> Path:
    return folder / f"beam.{origin}.json"


def renew(
    folder: Path, origin: Origin, new: Iterable[Entry], best: Entry, width: int, passes: Callable[[str], bool]
) -> Beam:
    """Merge new kernels into the stored beam; ``best`` is never lost from it, nor is there one that does not pass."""
    with state.locked(folder / f".beam.{origin}.lock"):
        known = (*read(folder, origin).entries, *new)
        beam = merged([entry for entry in known if passes(entry.digest)], best, width)
        seals.write(folder, path(folder, origin), beam)
    return beam


def merged(known: Iterable[Entry], best: Entry, width: int) -> Beam:
    """Best first, then the fastest; of several with one program the earliest attempt stands for all."""
    others = sorted(known, key=lambda entry: (entry.latency_us, entry.attempt))
    chosen = {best.program or best.digest: best}
    for entry in others:
        chosen.setdefault(entry.program or entry.digest, entry)
    return Beam(entries=tuple(chosen.values())[:width])
