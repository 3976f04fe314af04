"""Python's ``range`` in the loops of a kernel itself: Beta 1's compiler takes it for ``nl.sequential_range``.

Not in the functions that a kernel calls: those are unrolled (AWS's own kernels say so), unless they are jitted too.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Mapping
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

from nki_anvil.sim.beta1.calls import recorder
from nki_anvil.sim.beta1.definitions import Place, definition, place_of

_RANGE: Final = "range"


def with_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel's function as the compiler reads it; one without a loop over Python's ``range`` stays as it is."""
    if isinstance(function, functools.partial):
        return functools.partial(with_loops(function.func), *function.args, **function.keywords)
    if not isinstance(function, FunctionType):
        return function
    code, names = function.__code__, function.__globals__
    heads = recorder().read_as_kernel(code, names)
    if not heads or _RANGE in names:
        return function
    around = {**names, _RANGE: _counting(code, heads)}
    made = FunctionType(code, around, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def heads_of(code: CodeType, names: Mapping[str, Any]) -> frozenset[Place]:
    """Where in the text of a function ``range(...)`` begins as what a ``for`` statement runs over."""
    function = definition(code, names)
    loops = () if function is None else (node for node in ast.walk(function) if isinstance(node, ast.For))
    return frozenset((loop.iter.lineno, loop.iter.col_offset) for loop in loops if _is_range(loop.iter))


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _RANGE


def _counting(code: CodeType, heads: frozenset[Place]) -> Callable[..., Any]:
    """What stands for ``range``: a loop of the program where a ``for`` statement begins, else Python's."""

    def counting(*bounds: Any) -> Any:
        caller: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while caller is not None and caller.f_code.co_filename != code.co_filename:
            caller = caller.f_back  # what makes a text's calls for it, where it is judged
        counted = range(*bounds)
        if caller is None or caller.f_code is not code or place_of(caller) not in heads:
            return counted
        return recorder().iterate(_RANGE, counted.start, len(counted), counted.step, "sequential")

    return counting
