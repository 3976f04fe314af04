"""A kernel is called again in one process, and has to be the program that it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from nki_anvil.backends.worker import importing, keeping

_PART: Final = 4
"""The part of the time for tracing that calls with other shapes may take together, and so may one call more."""
_QUICK: Final = 16
"""The part of it within which a kernel meets one look after the other."""
_FURTHER_CALLS: Final = 3
_QUICK_S: Final = 0.05
"""So often a kernel is called once more whose trace takes no longer than this."""


class TraceUnstable(Exception):
    """A second call in the same process is another program, or may be one."""

    code = "TraceUnstable"
    remedy = "Keep nothing between calls: make lists, dictionaries and counters inside of the kernel."

    def __init__(self, kept: Sequence[str], when: str = "it is called once more") -> None:
        names = ", ".join(f"`{name}`" for name in kept[:3])
        super().__init__(
            f"The kernel leaves something behind in {names} for its next call."
            if kept
            else f"The kernel traces to another program when {when}."
        )


class CachedSlowly(Exception):
    """What a cache makes of further calls cannot be seen in the time there is."""

    code = "TraceUnstable"
    remedy = "Compute without `cache` and `lru_cache`, or let the kernel trace faster."

    def __init__(self) -> None:
        super().__init__("The kernel asks a cache, and traces too slowly to see what the cache makes of other calls.")


class Again(NamedTuple):
    """The program of a kernel that was called at other shapes before."""

    program: bytes
    before: list[tuple[Any, bytes]]
    """Other inputs with their programs, of the calls that ended in time."""


def compared(traced: Callable[[], bytes], hold: Callable[..., keeping.Held]) -> bytes:
    """The program, once it is seen that making it has left nothing behind in what the names hold."""
    before = hold()
    data = traced()
    held = hold()
    if kept := held.changed(before):
        raise TraceUnstable(kept)
    if held.unseen:
        asked = hold(caches=True)
        alike(data, traced())
        if kept := hold(caches=True).changed(asked):
            raise TraceUnstable(kept)
    return data


def alike(one: bytes, other: bytes, *when: str) -> None:
    if one != other:
        raise TraceUnstable([], *when)


def is_quick(taken: float, trace_s: float) -> bool:
    """Whether there is time for one look after the other; a kernel that takes longer meets them in one."""
    return taken < trace_s / _QUICK


def called_again(
    traced: Callable[..., bytes], hold: Callable[[], keeping.Held], others: list[Any], trace_s: float
) -> Again:
    """The program after calls with other shapes, once it is seen that further calls give no other.

    What is kept once for all, as in a cache, has been kept by then. A kernel that takes a large part of the time there
    is for tracing is called no more, and may have no caches: what they keep would be seen too late.
    """
    budget = importing.Budget(trace_s / _PART)
    asides = [importing.Aside(budget) for _ in others]
    at_first = hold()
    before: list[tuple[Any, bytes]] = []
    for aside, inputs in zip(asides, others, strict=True):
        with aside:
            before.append((inputs, traced(inputs)))
    if not at_first.unseen and (kept := hold().changed(at_first)):
        raise TraceUnstable(kept)
    started = time.monotonic()
    data = traced()
    slow = (taken := time.monotonic() - started) > trace_s / _PART
    again, held = Again(data, before), hold()
    if held.unseen and (slow or any(aside.ended for aside in asides)):
        raise CachedSlowly
    if slow:
        return again
    same = traced() == data
    kept = hold().changed(held)
    if kept or not same:
        raise TraceUnstable(kept)
    for _ in range(_FURTHER_CALLS if taken < _QUICK_S else 0):
        alike(data, traced())
    return again
