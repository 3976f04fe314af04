"""One of several processes that store attempts at once; importable, so that a spawned process finds it."""

from pathlib import Path
from threading import Barrier

from nki_anvil.lab import seals
from nki_anvil.lab.attempts import Attempts

NOW = "2026-01-01T00:00:00+00:00"


def take_many(folder: str, data: str, first: int, barrier: Barrier) -> None:
    """Twenty texts, of which the neighbouring processes share half."""
    seals.keep(Path(folder).parent, Path(data))
    attempts = Attempts(Path(folder))
    barrier.wait()
    for number in range(20):
        attempts.take(f"kernel {first + number}\n", at=NOW)
