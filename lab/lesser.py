"""References from which one thing is left out: a condition, a term, the end of a loop, of a row or of a table.

A kernel that leaves it out is one of these. Where no case tells them from the reference, no case tells the kernel.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, cast

from nki_anvil.lab import shorter_axes, shorter_tables

MOST: Final = 128
"""Of one reference, what decides before what is computed."""
TABLES: Final = 48
"""Of elements of tables."""
AXES: Final = 32
"""Of ends of what is reduced or scanned."""
LONGEST: Final = 60
"""Characters of what is left out that a warning shows."""
NOT_COMPUTED: Final = frozenset({"get_inputs", "transform_to_nki_inputs", "transform_nki_outputs"})
"""Functions of a reference that are none of what a kernel computes."""
_OF_THE_FIRST: Final = frozenset({"maximum", "minimum", "fmax", "fmin", "clip", "abs"})
"""NumPy's functions whose first argument may stand for them."""
_TURNS_OF_THE_FIRST: Final = frozenset({"enumerate", "zip", "reversed"})
"""What a loop goes over that ends with its first argument."""
_LOGICAL: Final = (ast.BitAnd, ast.BitOr)
_TERMS: Final = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Mult, ast.Add, ast.Sub)
_NEUTRAL: Final[Mapping[type[ast.operator], int]] = {ast.Mult: 1, ast.Add: 0, ast.Sub: 0, ast.BitOr: 0, ast.BitXor: 0}
LISTED: Final = 16
"""Elements of a list of which each is left out; of longer ones the first and the last."""
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


def lessers(tree: ast.Module, held: Mapping[str, Any] = MappingProxyType({})) -> list[Lesser]:
    """Those of all that ``forward`` reaches, at most ``MOST``, and tables without some of their elements.

    ``held`` is what the module's names hold.
    """
    named = frozenset(name for statement in tree.body for name in _bound(statement))
    reached = _reached(tree)
    found = [one for statement in reached for one in _left_out(statement, named) if not _is_neutral(*one, held)]
    found.sort(key=lambda one: isinstance(one[0], ast.BinOp) and not isinstance(one[0].op, _LOGICAL))
    step = max(1, -(-len(found) // MOST))
    left = [_without(tree, node, instead, _said(node, instead), _tells(node)) for node, instead in found[::step]]
    axes = [one for statement in reached for node in _free(statement) for one in shorter_axes.shorter(node)]
    tables = [one for statement in reached for one in shorter_tables.shorter(statement, held)]
    return left + [_without(tree, *one, tells=True) for one in (*axes[:AXES], *tables[:TABLES])]


def _is_neutral(node: ast.AST, instead: ast.AST, held: Mapping[str, Any]) -> bool:
    """Whether what is left out is a number that changes nothing: a one that is multiplied, a zero that is added."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if instead in (left, right):
            dropped = left if instead is right else right
            number = getattr(dropped, "value", None) if isinstance(dropped, ast.Constant) else None
            number = held.get(dropped.id) if isinstance(dropped, ast.Name) else number
            plain = isinstance(number, int | float) and not isinstance(number, bool)
            return plain and number == _NEUTRAL.get(type(op)) and not (isinstance(op, ast.Sub) and dropped is left)
        case _:
            return False


def _reached(tree: ast.Module) -> list[ast.stmt]:
    """Functions, classes and assignments that forward names, or what it names, in the text's order."""
    named: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _bound(statement):
            named.setdefault(name, []).append(statement)
    waiting, found = ["forward"], list[ast.stmt]()
    while waiting:
        for statement in named.pop(waiting.pop(), []):
            found.append(statement)
            waiting += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return [statement for statement in tree.body if statement in found]


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if name not in NOT_COMPUTED:
            yield name
        case ast.Assign(targets=targets):
            yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            pass


Left = tuple[ast.AST, ast.AST]
"""A node, and what stands instead."""


def _left_out(statement: ast.stmt, named: Collection[str]) -> Iterator[Left]:
    for node in _free(statement):
        yield from ((node, instead) for instead in (*_instead(node), *_of_a_table(node, named)))
        if isinstance(node, (ast.For, ast.comprehension)):
            yield from ((node.iter, instead) for instead in _fewer_turns(node.iter, named))


def _free(statement: ast.stmt) -> Iterator[ast.AST]:
    """A loop that goes on until something holds may never end without it: nothing of such a loop is left out. Nor are
    places of an index."""
    loops = [node for node in ast.walk(statement) if isinstance(node, ast.While)]
    kept = {id(part) for loop in loops for part in ast.walk(loop)}
    kept |= {id(node.slice) for node in ast.walk(statement) if isinstance(node, ast.Subscript)}
    yield from (node for node in ast.walk(statement) if id(node) not in kept)


def _instead(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.AugAssign():
            yield ast.Pass()
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _TERMS):
            yield from (left, right)
        case ast.List(elts=[_, _, *_] as parts, ctx=ast.Load()) | ast.Tuple(elts=[_, _, *_] as parts, ctx=ast.Load()):
            for number in range(len(parts)) if len(parts) <= LISTED else (0, len(parts) - 1):
                yield type(node)([part for at, part in enumerate(parts) if at != number], ast.Load())
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
        case ast.Attribute(value=ast.Name(id="re")), [*some, _] if some:
            yield ast.Call(call.func, some, [])
        case ast.Attribute(attr="where"), [_, one, other]:
            yield from (one, other)
        case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=name), [first, *_] if name in _OF_THE_FIRST:
            yield first
        case _:
            pass


def _of_a_table(node: ast.AST, named: Collection[str]) -> Iterator[ast.AST]:
    """What the whole text holds, read without its last row, and without its second half: of states of an automaton,
    for instance, behind which own draws never come."""
    match node:
        case ast.Subscript(value=ast.Name(id=name) as table, slice=index, ctx=ast.Load()) if name in named:
            first, rest = (index.elts[0], index.elts[1:]) if isinstance(index, ast.Tuple) else (index, [])
            if any(isinstance(part, ast.Name) for part in ast.walk(first)) and not isinstance(first, ast.Slice):
                for last in ("len({0}) - 2", "(len({0}) - 1) // 2"):
                    end = ast.parse(f"np.minimum(0, {last.format(name)})", mode="eval").body
                    cast(ast.Call, end).args[0] = first
                    yield ast.Subscript(table, ast.Tuple([end, *rest], ast.Load()) if rest else end, ast.Load())
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


def _fewer_turns(over: ast.expr, named: Collection[str]) -> Iterator[ast.expr]:
    """A loop over what is no range without its last turn, and without its second half. Tables have their own."""
    match over:
        case ast.Call(func=ast.Name(id=name), args=[first, *rest]) if name in _TURNS_OF_THE_FIRST:
            yield from (ast.Call(over.func, [less, *rest], over.keywords) for less in _fewer_turns(first, named))
        case ast.Name(id=name) if name in named:
            pass
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call(func=ast.Attribute()):
            for end in ("-1", f"(len({ast.unparse(over)}) + 1) // 2"):
                yield ast.Subscript(over, ast.Slice(None, ast.parse(end, mode="eval").body), ast.Load())
        case _:
            pass


def _without(tree: ast.Module, node: ast.AST, instead: ast.AST, said: str, tells: bool) -> Lesser:
    known: dict[int, object] = {}
    copied = copy.deepcopy(tree, known)
    found = known[id(node)]
    changed = _Exchange(lambda one: copy.deepcopy(instead) if one is found else None).visit(copied)
    whole = cast(ast.Module, ast.fix_missing_locations(changed))
    return Lesser(getattr(node, "lineno", 0), said, tells, whole)


def _tells(node: ast.AST) -> bool:
    match node:
        case ast.AugAssign() | ast.BoolOp() | ast.List() | ast.Tuple() | ast.Subscript() | ast.Name() | ast.Attribute():
            return True
        case ast.BinOp(op=op):
            return isinstance(op, (*_LOGICAL, ast.Mult))
        case ast.Call(func=ast.Name(id=name)) if name in _TURNS_OF_THE_FIRST:
            return True
        case ast.Call(func=ast.Name(id="range") | ast.Attribute(value=ast.Name(id="re"))):
            return True
        case _:
            return False


def _said(node: ast.AST, instead: ast.AST) -> str:
    """What is left out, or what stands instead where that is shorter to say."""
    text = ast.unparse(node).splitlines()[0]
    shown = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    if isinstance(instead, ast.Pass) or isinstance(node, ast.If):
        return f"`{shown}` is there"
    if isinstance(node, (ast.List, ast.Tuple)):
        kept = cast(ast.List, instead).elts
        return f"`{'`, `'.join(ast.unparse(one) for one in node.elts if one not in kept)}` is in `{shown}`"
    return f"it is `{shown}` and not `{ast.unparse(instead)[:LONGEST]}`"


class _Exchange(ast.NodeTransformer):
    def __init__(self, instead: Callable[[ast.AST], ast.AST | None]) -> None:
        self._instead = instead

    def visit(self, node: ast.AST) -> ast.AST:
        found = self._instead(node)
        return self.generic_visit(node) if found is None else ast.copy_location(found, node)
