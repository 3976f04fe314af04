"""What a kernel chooses by the index of a loop: Beta 1's compiler sees each body once, with both arms of an ``if``.

An arm has a scope of its own (NKI API errors, SDK 2.26), and which number is left behind one is undefined (migration
guide from NKI 0.1). Public kernels leave tiles behind an ``if`` on what is known beforehand, or on a program's number.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple

from nki_anvil.sim.beta1.definitions import definition, place_of
from nki_anvil.sim.beta1.paths import path
from nki_anvil.sim.beta1.reaching import escaping
from nki_anvil.sim.errors import TraceError


class Choice(NamedTuple):
    """A condition of a function that decides what is used behind it: a name, or the value of an expression."""

    test: ast.expr
    name: str


def choices(code: CodeType, names: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Those of a function of a module with these names."""
    function = definition(code, names)
    if function is None:
        return ()
    bound = [Choice(branch.test, name) for branch, name in escaping(function).items()]
    return (*bound, *(Choice(one.test, "") for one in ast.walk(function) if isinstance(one, ast.IfExp)))


def chosen_by(moves: Mapping[int, int]) -> None:
    """Python asks now for a number that loops move; raises TraceError where it decides what is used behind an arm."""
    here = path()
    if not here.kernels or all(depth <= here.launch for depth in moves):
        return
    frame = _innermost({code.co_filename for code in here.kernels})
    if frame is None:
        return
    for choice in here.kernels.get(frame.f_code, ()):
        if _within(choice.test, frame):
            raise _refused(choice.name)


def _innermost(files: set[str]) -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename not in files:
        frame = frame.f_back
    return frame


def _within(test: ast.expr, frame: FrameType) -> bool:
    """Whether a frame evaluates a condition."""
    place = place_of(frame)
    end = (test.end_lineno or test.lineno, test.end_col_offset or 0)
    return place is not None and (test.lineno, test.col_offset) <= place < end


def _refused(name: str) -> TraceError:
    if not name:
        return TraceError(
            "NKI-CONTROL",
            "`a if condition else b` chooses by the index of a loop, whose body the compiler sees once.",
            remedy="Use an `if` statement with what depends on it in its arms, nl.where, or nl.static_range.",
        )
    return TraceError(
        "NKI-SCOPE",
        f"`{name}` is bound in an arm of an `if` on the index of a loop, and used behind it.",
        remedy="Allocate a tile before the `if`, and assign to it by index in its arms: t[...] = value; use a number in"
        " the arm that knows it, or loop by nl.static_range, whose index is a number.",
    )
