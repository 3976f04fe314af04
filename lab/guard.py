"""The divergence guard: after three failures, or one bad regression, somebody has to think before the next try.

A pure state machine over one record per reference and origin, in which kernels go by their digests: a new name of the
problem, or attempts that were taken away, change nothing. It must not know files, kernels or backends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from nki_anvil.backends.job import Record
from nki_anvil.lab.verdict import Verdict

CHEAP_GATES: Final = frozenset({"language", "reproducible", "machine"})
"""A kernel that stops here never ran: a slip of the pen more often than a wrong idea, so it weighs one third."""

SLIP: Final = 1
FAILURE: Final = 3
"""Weights in thirds, so that the count is exact."""


class Guard(Record):
    """Counter and state, as it is stored."""

    schema_number: int = 2
    thirds: int = 0
    """Failures since the last keep or reflexion, in thirds."""
    closed_by: str | None = None
    """The kernel whose reflexion opens the guard."""
    why: str = ""
    counted: tuple[str, ...] = ()
    """Kernels that have counted; each does so once."""
    old: tuple[str, ...] = ()
    """Kernels that there were when the last reflexion was written."""

    @property
    def closed(self) -> bool:
        return self.closed_by is not None

    @property
    def failures(self) -> float:
        return self.thirds / FAILURE


Change = Callable[[Guard], Guard]


def weight(verdict: Verdict) -> int:
    """What a verdict counts, in thirds: nothing when it passed."""
    if verdict.passed:
        return 0
    return SLIP if verdict.failed_gate in CHEAP_GATES else FAILURE


def failed(guard: Guard, kernel: str, thirds: int, *, allowed: int) -> Guard:
    """A kernel failed. One that counted before changes nothing."""
    if thirds == 0 or kernel in guard.counted:
        return guard
    total = guard.thirds + thirds
    counted = guard.model_copy(update={"thirds": total, "counted": (*guard.counted, kernel)})
    if total < allowed * FAILURE or guard.closed:
        return counted
    return counted.model_copy(update={"closed_by": kernel, "why": f"{allowed} failures since the last progress"})


def turns(guard: Guard, *, allowed: int) -> int:
    """How many kernels may be judged at once: if all of them fail, the last closes the guard, and none is past it."""
    return max(1, -(-(allowed * FAILURE - guard.thirds) // FAILURE))


def regressed(guard: Guard, kernel: str, speedup: float, *, allowed: int, threshold: float) -> Guard:
    """A kernel was reverted; one that is slower than ``threshold`` times best closes the guard by itself."""
    fresh = kernel not in guard.counted
    counted = failed(guard, kernel, FAILURE, allowed=allowed)
    if not fresh or counted.closed or speedup * threshold >= 1:
        return counted
    return counted.model_copy(update={"closed_by": kernel, "why": f"{1 / speedup:.2f} times the latency of best"})


def kept(guard: Guard) -> Guard:
    """Progress: the count starts again. A closed guard stays closed."""
    return guard.model_copy(update={"thirds": 0})


def reflected(guard: Guard, kernel: str, known: Iterable[str]) -> Guard:
    """A reflexion was written on ``kernel`` while these were known.

    On the kernel that closed the guard it opens it; on that one, or on any made since the last reflexion, it sets the
    count to zero. A second thought about an old kernel changes neither.
    """
    opens = kernel == guard.closed_by
    if not opens and kernel in guard.old:
        return guard
    update: dict[str, object] = {"old": tuple(dict.fromkeys((*guard.old, *known))), "thirds": 0}
    return guard.model_copy(update={**update, "closed_by": None, "why": ""} if opens else update)
