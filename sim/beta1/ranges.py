"""Python's ``range`` in the loops of a kernel itself: Beta 1's compiler takes it for ``nl.sequential_range``.

Not in the functions that a kernel calls: those are unrolled (AWS's own kernels say so), unless they are jitted too.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final

from nki_anvil.sim.beta1.calls import recorder

_UNSEEN: Final = frozenset({"CACHE", "EXTENDED_ARG", "NOP"})


def with_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel's function as the compiler reads it; what calls no ``range`` of Python's stays as it is."""
    if isinstance(function, functools.partial):
        return functools.partial(with_loops(function.func), *function.args, **function.keywords)
    if not isinstance(function, FunctionType):
        return function
    recorder().read_as_kernel(function.__code__, function.__globals__)
    heads = _heads(function.__code__)
    if not heads or "range" in function.__globals__:
        return function
    names = {**function.__globals__, "range": _counting(function.__code__, heads)}
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _counting(code: CodeType, heads: frozenset[int]) -> Callable[..., Any]:
    """What stands for ``range``: a loop of the program where a ``for`` statement begins, else Python's."""

    def counting(*bounds: Any) -> Any:
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        counted = range(*bounds)
        if caller.f_code is not code or caller.f_lasti not in heads:
            return counted
        return recorder().iterate("range", counted.start, len(counted), counted.step, "sequential")

    return counting


@functools.lru_cache(maxsize=256)
def _heads(code: CodeType) -> frozenset[int]:
    """Where a call's result is what a ``for`` statement runs over; a comprehension prepares its list in between.

    While it runs, a call stands at its own place or, by version of Python, at the last of those it keeps for itself.
    """
    if "range" not in code.co_names:
        return frozenset()
    steps = [one for one in dis.get_instructions(code) if one.opname not in _UNSEEN]
    return frozenset(
        place
        for call, first, second in zip(steps, steps[1:], steps[2:], strict=False)
        if call.opname.startswith("CALL") and (first.opname, second.opname) == ("GET_ITER", "FOR_ITER")
        for place in range(call.offset, first.offset)
    )
