"""Which keeps are progress: those of kernels that are faster than all that were kept before, under whatever name.

Otherwise a new name of the problem that begins with a slow kernel would let a known one be kept again, and the guard
count from nothing. It lies beside the guard in the data folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Origin
from nki_anvil.lab import state
from nki_anvil.lab.comparison import Comparison

Stands = Callable[[str], bool]
"""Whether the kernel of a digest has not failed since."""


class Keep(Record):
    kernel: str
    latency_us: float
    toolchain: str
    """Latencies of two say nothing of each other."""
    owed: bool
    """It is progress of which the guard was not told yet."""


class Keeps(Record):
    """``keeps.<origin>.json`` of the problem's account."""

    keeps: tuple[Keep, ...] = ()


def note(account: Path, origin: Origin, kept: Comparison, stands: Stands) -> None:
    """A kernel became best; one that had been before is no news."""

    def noted(now: Keeps) -> Keeps:
        alike = [keep for keep in now.keeps if keep.toolchain == kept.toolchain]
        if any(keep.kernel == kept.new_digest for keep in alike):
            return now
        owed = _is_progress(kept, [keep for keep in alike if stands(keep.kernel)])
        new = Keep(kernel=kept.new_digest, latency_us=kept.latency_us, toolchain=kept.toolchain, owed=owed)
        return Keeps(keeps=(*now.keeps, new))

    _change(account, origin, noted)


def _is_progress(kept: Comparison, before: list[Keep]) -> bool:
    """Where scores decide, latencies do not tell; nor those of two days, where it was compared with the fastest."""
    fastest = min(before, key=lambda keep: keep.latency_us, default=None)
    if fastest is None or kept.score is not None:
        return True
    return fastest.kernel == kept.best_digest or kept.latency_us < fastest.latency_us


def taken(account: Path, origin: Origin, kernel: str) -> bool:
    """Whether a keep is progress that does not count yet; it does from now on."""
    owed = any(keep.owed for keep in _read(account, origin).keeps if keep.kernel == kernel)
    if owed:
        _change(account, origin, lambda now: Keeps(keeps=tuple(_paid(keep, kernel) for keep in now.keeps)))
    return owed


def _paid(keep: Keep, kernel: str) -> Keep:
    return keep.model_copy(update={"owed": False}) if keep.kernel == kernel else keep


def _change(account: Path, origin: Origin, change: Callable[[Keeps], Keeps]) -> None:
    with state.locked(account / f".keeps.{origin}.lock"):
        before = _read(account, origin)
        if (after := change(before)) != before:
            state.write_model(_path(account, origin), after)


def _read(account: Path, origin: Origin) -> Keeps:
    return state.read_model(_path(account, origin), Keeps) or Keeps()


def _path(account: Path, origin: Origin) -> Path:
    return account / f"keeps.{origin}.json"
