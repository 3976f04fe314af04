"""References from which one thing is left out: a condition, a term, the end of a loop.

A kernel that leaves it out is one of these. Where no case tells them from the reference, no case tells the kernel.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, cast

MOST: Final = 64
"""Of one reference."""
LONGEST: Final = 60
"""Characters of what is left out that a warning shows."""
NOT_COMPUTED: Final = frozenset({"get_inputs", "transform_to_nki_inputs", "transform_nki_outputs"})
"""Functions of a reference that are none of what a kernel computes."""
_OF_THE_FIRST: Final = frozenset({"maximum", "minimum", "fmax", "fmin", "clip", "abs"})
"""NumPy's functions whose first argument may stand for them."""
_ORDER: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass(frozen=True, slots=True)
class Lesser:
    """A reference's tree without one thing."""

    line: int
    said: str
    """What is left out, as it is written."""
    tells: bool
    """Whether it is worth a word where it comes to the same: guards often do."""
    tree: ast.Module


def lessers(tree: ast.Module) -> list[Lesser]:
    """Those of its functions, at most ``MOST``, spread over the text."""
    found = [one for function in _functions(tree) for one in _left_out(function)]
    step = max(1, -(-len(found) // MOST))
    return [_without(tree, node, instead) for node, instead in found[::step]]


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name not in NOT_COMPUTED:
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from (part for part in node.body if isinstance(part, ast.FunctionDef))


Left = tuple[ast.AST, ast.AST]
"""A node, and what stands instead."""


def _left_out(function: ast.FunctionDef) -> Iterator[Left]:
    """A loop that goes on until something holds may never end without it: nothing of such a loop is left out."""
    loops = [node for node in ast.walk(function) if isinstance(node, ast.While)]
    kept = {id(part) for loop in loops for part in ast.walk(loop)}
    for node in ast.walk(function):
        if id(node) in kept:
            continue
        yield from ((node, instead) for instead in _instead(node))


def _instead(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.AugAssign():
            yield ast.Pass()
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr(), right=right):
            yield from (left, right)
        case ast.BoolOp(op=op, values=values):
            for number in range(len(values)):
                rest = [value for at, value in enumerate(values) if at != number]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, _ORDER):
            moved = (ast.BinOp(right, by, ast.Constant(1)) for by in (ast.Add(), ast.Sub()))
            yield from (ast.Compare(left, [op], [one]) for one in moved)
        case ast.If(orelse=rest) if not any(isinstance(part, ast.Break) for part in ast.walk(node)):
            yield ast.If(ast.Constant(False), [ast.Pass()], rest)
        case ast.Call(keywords=[]):
            yield from _of_a_call(node)
        case _:
            pass


def _of_a_call(call: ast.Call) -> Iterator[ast.AST]:
    match call.func, call.args:
        case ast.Name(id="range"), arguments:
            yield from _shorter(arguments)
        case ast.Name(id="max" | "min"), [one, other]:
            yield from (one, other)
        case ast.Attribute(attr="where"), [_, one, other]:
            yield from (one, other)
        case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=name), [first, *_] if name in _OF_THE_FIRST:
            yield first
        case _:
            pass


def _shorter(arguments: list[ast.expr]) -> Iterator[ast.AST]:
    """A loop without its last turn, and without its second half."""
    begin: ast.expr = arguments[0] if len(arguments) > 1 else ast.Constant(0)
    end, step = arguments[len(arguments) > 1], arguments[2:]
    less = ast.BinOp(end, ast.Sub(), step[0] if step else ast.Constant(1))
    half = ast.BinOp(
        ast.BinOp(ast.BinOp(begin, ast.Add(), end), ast.Add(), ast.Constant(1)), ast.FloorDiv(), ast.Constant(2)
    )
    for stop in (less, half):
        yield ast.Call(ast.Name("range", ast.Load()), [begin, stop, *step], [])


def _without(tree: ast.Module, node: ast.AST, instead: ast.AST) -> Lesser:
    known: dict[int, object] = {}
    copied = copy.deepcopy(tree, known)
    found = known[id(node)]
    changed = _Exchange(lambda one: copy.deepcopy(instead) if one is found else None).visit(copied)
    tells = isinstance(node, (ast.AugAssign, ast.BoolOp, ast.BinOp)) or _is_range(node)
    whole = cast(ast.Module, ast.fix_missing_locations(changed))
    return Lesser(getattr(node, "lineno", 0), _said(node, instead), tells, whole)


def _is_range(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _said(node: ast.AST, instead: ast.AST) -> str:
    """What is left out, or what stands instead where that is shorter to say."""
    text = ast.unparse(node).splitlines()[0]
    shown = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    if isinstance(instead, ast.Pass) or isinstance(node, ast.If):
        return f"`{shown}` is there"
    return f"it is `{shown}` and not `{ast.unparse(instead)[:LONGEST]}`"


class _Exchange(ast.NodeTransformer):
    def __init__(self, instead: Callable[[ast.AST], ast.AST | None]) -> None:
        self._instead = instead

    def visit(self, node: ast.AST) -> ast.AST:
        found = self._instead(node)
        return self.generic_visit(node) if found is None else ast.copy_location(found, node)
