"""What a kernel chooses by the index of a loop: Beta 1's compiler sees each body once, with both arms of an ``if``.

An arm has a scope of its own (NKI API errors, SDK 2.26), and which number is left behind one is undefined (migration
guide from NKI 0.1). Public kernels leave tiles behind an ``if`` on what is known beforehand, or on a program's number.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

from nki_anvil.sim.beta1.definitions import definition, place_of
from nki_anvil.sim.beta1.paths import path
from nki_anvil.sim.beta1.reaching import escaping
from nki_anvil.sim.errors import TraceError


class Choice(NamedTuple):
    """A condition of a function that decides what is used behind it: a name, or the value of an expression."""

    whole: ast.stmt | ast.expr
    """The statement or expression, which a jump by a bare name is said to stand at."""
    test: ast.expr
    name: str


_COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
_STATED: Final = (ast.If, ast.IfExp, ast.While, ast.Assert)
"""Whose tests decide by themselves what their parts, joined by ``and`` and ``or``, do not."""


def choices(code: CodeType, names: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Those of a function of a module with these names."""
    function = definition(code, names)
    if function is None:
        return ()
    bound = [Choice(branch, branch.test, name) for branch, name in escaping(function).items()]
    chosen = [Choice(one, one.test, "") for one in ast.walk(function) if isinstance(one, ast.IfExp)]
    return (*bound, *chosen, *(Choice(*one, "") for one in _values(function)))


def _values(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """``a and b``, ``a or b`` and ``not a`` that are values, and no condition of a statement; and comprehensions'."""
    tests = [node.test for node in ast.walk(function) if isinstance(node, _STATED)]
    asked = {part for test in tests for part in _joined(test)}
    for node in ast.walk(function):
        if isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            if node not in asked:
                yield node, node
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            yield from ((node, test) for one in node.generators for test in one.ifs)


def _joined(test: ast.expr) -> Iterator[ast.expr]:
    """A condition and those that it is joined from."""
    yield test
    parts = test.values if isinstance(test, ast.BoolOp) else [test.operand] if isinstance(test, ast.UnaryOp) else []
    for part in parts:
        yield from _joined(part)


def inside(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of its comprehensions, which Python before 3.12 calls, and lambdas."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name in _COMPREHENSIONS:
            yield from inside(constant)


def chosen_by(moves: Mapping[int, int]) -> None:
    """Python asks now for a number that loops move; raises TraceError where it decides what is used behind an arm."""
    here = path()
    if not here.kernels or all(depth <= here.launch for depth in moves):
        return
    frame = _innermost({code.co_filename for code in here.kernels})
    if frame is None:
        return
    for choice in here.kernels.get(frame.f_code, ()):
        if _decides(choice.whole, choice.test, frame):
            raise _refused(choice.name)


def _innermost(files: set[str]) -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename not in files:
        frame = frame.f_back
    return frame


def _decides(whole: ast.stmt | ast.expr, test: ast.expr, frame: FrameType) -> bool:
    """Whether a frame evaluates the condition of a choice, or jumps by it."""
    place = place_of(frame)
    if place is None:
        return False
    end = (test.end_lineno or test.lineno, test.end_col_offset or 0)
    jumps = place == (whole.lineno, whole.col_offset) and _is_jump(frame)
    return jumps or (test.lineno, test.col_offset) <= place < end


def _is_jump(frame: FrameType) -> bool:
    name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    return "JUMP" in name or "BOOL" in name


def _refused(name: str) -> TraceError:
    if not name:
        return TraceError(
            "NKI-CONTROL",
            "`a if condition else b`, or `and` or `or`, chooses by the index of a loop, whose body the compiler sees"
            " once.",
            remedy="Use an `if` statement with what depends on it in its arms, nl.where, or nl.static_range.",
        )
    return TraceError(
        "NKI-SCOPE",
        f"`{name}` is bound in an arm of an `if` on the index of a loop, and used behind it.",
        remedy="Allocate a tile before the `if`, and assign to it by index in its arms: t[...] = value; use a number in"
        " the arm that knows it, or loop by nl.static_range, whose index is a number.",
    )
