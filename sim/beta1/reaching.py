"""Which names that an arm of an ``if`` binds are read behind it, as the statements of a function follow each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

_READ: Final = "read"
_BOUND: Final = "bound"
_LOOPS: Final = (ast.For, ast.While)
_PARTS: Final = ("body", "orelse", "finalbody")


def escaping(function: ast.FunctionDef) -> dict[ast.If, str]:
    """Of each ``if`` of a function, the first name that an arm binds and that is read behind it, if there is one."""
    found: dict[ast.If, str] = {}
    for branch, behind in _branches(function.body, []):
        names = sorted({name for arm in (branch.body, branch.orelse) for name in _bound(arm)})
        read = [name for name in names if any(_fate(block, name) == _READ for block in _following(behind, name))]
        if read:
            found[branch] = read[0]
    return found


_Behind = list[tuple[Sequence[ast.stmt], Sequence[ast.stmt]]]
"""From the outermost block on: the statements that follow in it, and those that run again, where it is a loop's."""


def _branches(block: Sequence[ast.stmt], behind: _Behind, again: bool = False) -> Iterator[tuple[ast.If, _Behind]]:
    for place, statement in enumerate(block):
        here: _Behind = [*behind, (block[place + 1 :], block[: place + 1] if again else ())]
        if isinstance(statement, ast.If):
            yield statement, here
        if isinstance(statement, (ast.If, ast.With, *_LOOPS)):
            for part in _PARTS:
                inside: list[ast.stmt] = getattr(statement, part, [])
                yield from _branches(inside, here, again=isinstance(statement, _LOOPS) and part == "body")


def _following(behind: _Behind, name: str) -> Iterator[Sequence[ast.stmt]]:
    """The blocks that run behind, inner ones first, as far as none of them binds the name anew."""
    for rest, again in reversed(behind):
        yield rest
        if _fate(rest, name) == _BOUND:
            return
        yield again


def _fate(block: Sequence[ast.stmt], name: str) -> str:
    """What becomes of a name in a block: it is read as it was, or bound anew before, or neither."""
    for statement in block:
        fate = _fate_in(statement, name)
        if fate:
            return fate
    return ""


def _fate_in(statement: ast.stmt, name: str) -> str:
    if isinstance(statement, ast.For):
        return _fate_of_loop(statement, name)
    if isinstance(statement, (ast.If, ast.While)):
        return _READ if _reads(statement.test, name) else _joined(statement.body, statement.orelse, name)
    if isinstance(statement, ast.With):
        return _READ if any(_reads(item, name) for item in statement.items) else _fate(statement.body, name)
    if _reads(statement, name):
        return _READ
    return _BOUND if name in _bound([statement]) else ""


def _fate_of_loop(loop: ast.For, name: str) -> str:
    bound = any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(loop.target))
    inside = _BOUND if bound else _joined(loop.body, loop.orelse, name)
    return _READ if _reads(loop.iter, name) else inside


def _joined(one: Sequence[ast.stmt], other: Sequence[ast.stmt], name: str) -> str:
    """Two arms, of which one runs; what one of them binds is taken for bound, as it is read where that one ran."""
    fates = (_fate(one, name), _fate(other, name))
    return _READ if _READ in fates else max(fates)


def _reads(node: ast.AST, name: str) -> bool:
    """Whether a name's value is taken; ``name += 1`` takes it as well."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
        return True
    return any(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load) for one in ast.walk(node))


def _bound(block: Sequence[ast.stmt]) -> Iterator[str]:
    """Names that statements bind; what ``t += x`` changes is where it was."""
    for statement in block:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                yield from _names(node)
            elif isinstance(node, ast.For):
                yield from _names(node.target)


def _names(node: ast.AST) -> Iterator[str]:
    yield from (one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
