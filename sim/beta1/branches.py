"""What a kernel chooses by the index of a loop: Beta 1's compiler sees each body once, with both arms of an ``if``.

An arm has a scope of its own (NKI API errors, SDK 2.26), and which number is left behind one is undefined (migration
guide from NKI 0.1). Public kernels leave tiles behind an ``if`` on what is known beforehand, or on a program's number.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import NamedTuple

from nki_anvil.sim.beta1.paths import path
from nki_anvil.sim.beta1.reaching import escaping
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.parsing import parsed


class Choice(NamedTuple):
    """A condition of a function that decides what is used behind it: a name, or the value of an expression."""

    test: ast.expr
    name: str


def chosen_by(moves: Mapping[int, int]) -> None:
    """Python asks now for a number that loops move; raises TraceError where it decides what is used behind an arm."""
    here = path()
    if not here.kernels or all(depth <= here.launch for depth in moves):
        return
    frame = _innermost({code.co_filename for code in here.kernels})
    if frame is None or frame.f_code not in here.kernels:
        return
    for choice in _choices(frame):
        if _within(choice.test, frame):
            raise _refused(choice.name)


def _innermost(files: set[str]) -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename not in files:
        frame = frame.f_back
    return frame


def _choices(frame: FrameType) -> tuple[Choice, ...]:
    text = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    return _choices_of(text, frame.f_code.co_firstlineno, frame.f_code.co_name)


@lru_cache(maxsize=64)
def _choices_of(text: str, line: int, name: str) -> tuple[Choice, ...]:
    """Those of the function that begins at a line, its decorators included."""
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found: list[Choice] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name and _first_line(node) == line:
            found += (Choice(branch.test, bound) for branch, bound in escaping(node).items())
            found += (Choice(one.test, "") for one in ast.walk(node) if isinstance(one, ast.IfExp))
    return tuple(found)


def _first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def _within(test: ast.expr, frame: FrameType) -> bool:
    """Whether a frame evaluates a condition."""
    place = _place(frame.f_code, frame.f_lasti)
    end = (test.end_lineno or test.lineno, test.end_col_offset or 0)
    return place is not None and (test.lineno, test.col_offset) <= place < end


def _place(code: CodeType, instruction: int) -> tuple[int, int] | None:
    line, _, column, _ = next(islice(code.co_positions(), instruction // 2, None))
    return None if line is None or column is None else (line, column)


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
