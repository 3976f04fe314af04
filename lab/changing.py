"""Which global names a statement changes when a module is imported: by binding them, by storing into what they stand
for, or by handing that to somebody who might. What it cannot tell it takes for a change.
"""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nki_anvil.lab import bindings, scopes
from nki_anvil.lab.allowed import words

Definitions = Mapping[str, Sequence[ast.stmt]]

ANY: Final = "*"
"""Stands for every name."""

_REACHING: Final = frozenset({"globals", "locals", "vars", "exec", "eval", "setattr", "delattr"})
"""Builtins that change names which they do not spell."""

_LOOKING: Final = words("""
    print len sum min max sorted str repr list tuple dict set frozenset enumerate zip range isinstance issubclass any
    all int float bool format type id hash abs round divmod pow reversed map filter iter next
""")
"""Builtins that change none of what they are given."""

_READING: Final = words("index count items keys values get copy join split format startswith endswith")
"""Methods of lists, dictionaries and texts that change nothing."""

_VALUES: Final = words("int float bool str len min max abs round sum pow tuple frozenset range divmod")
"""Builtins that return what cannot be another inside."""

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_CALLED: Final = (*_FUNCTIONS, ast.ClassDef)
_DEFINED: Final = (*_CALLED, ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Changes:
    bound: frozenset[str]
    inside: frozenset[str]
    """Names that go on standing for the same object, which may be another inside."""

    def touch(self, names: frozenset[str]) -> bool:
        return not (self.bound | self.inside).isdisjoint(names)


def changes(statement: ast.stmt, defined: Definitions) -> Changes:
    """What importing runs of it, with the functions that it calls."""
    bound: set[str] = set()
    inside: set[str] = set()
    for code in _run(statement, defined):
        found = scopes.names(code)
        bound |= found.later if isinstance(code, _CALLED) else found.later | found.bound
        inside |= {name for name in _inside(code, defined) if name in found.asked | {ANY}}
    if isinstance(statement, _CALLED):
        bound.add(statement.name)
    return Changes(frozenset(bound), frozenset(inside))


def is_changeable(name: str, defined: Definitions) -> bool:
    """Whether it stands for what can be another inside: no function, module, number, text or tuple of them."""
    return any(_holds(name, statement) for statement in defined.get(name, ()))


def _holds(name: str, statement: ast.stmt) -> bool:
    if isinstance(statement, _DEFINED):
        return isinstance(statement, _CALLED) and statement.name != name
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return statement.value is not None and not _is_value(statement.value)
    return True


def _is_value(node: ast.expr) -> bool:
    match node:
        case ast.Constant() | ast.Compare() | ast.JoinedStr() | ast.Lambda():
            return True
        case ast.Attribute(value=ast.Name() | ast.Attribute()):
            return True
        case ast.UnaryOp(operand=operand):
            return _is_value(operand)
        case ast.BinOp(left=left, right=right):
            return _is_value(left) and _is_value(right)
        case ast.IfExp(body=body, orelse=other):
            return _is_value(body) and _is_value(other)
        case ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            return all(map(_is_value, parts))
        case ast.Call(func=ast.Name(id=function)):
            return function in _VALUES
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module))):
            return module == "math"
        case _:
            return False


def _run(statement: ast.stmt, defined: Definitions) -> Iterator[ast.stmt]:
    """The statement, or what a definition executes at once, and the functions that are asked for there."""
    seen: set[int] = set()
    waiting = at_once(statement, defined)
    while waiting:
        code = waiting.pop()
        if id(code) not in seen:
            seen.add(id(code))
            yield code
            asked = [one for name in scopes.names(code).asked for one in defined.get(name, ())]
            waiting += [one for one in asked if isinstance(one, _CALLED)]


class _Signatures(ast.NodeTransformer):
    """Leaves of methods what executes while their class is made."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [ast.copy_location(ast.Pass(), node)]
        return node


def _makes_no_object(statement: ast.ClassDef, defined: Definitions) -> bool:
    """Whether making the class calls none of its methods: it has no decorator, and bases of others alone.

    Of Python's own modules some call them, as enumerations do.
    """
    if statement.decorator_list or statement.keywords:
        return False
    roots = {_root_name(base) for base in statement.bases}
    imported = bindings.modules(one for root in roots for one in defined.get(root, ()))
    modules = {path.partition(".")[0] for root in roots for path in imported.get(root, ("",))}
    return "" not in modules and modules.isdisjoint({*sys.stdlib_module_names, "nki", "neuronxcc"})


def _root_name(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def at_once(statement: ast.stmt, defined: Definitions) -> list[ast.stmt]:
    """What importing executes of a statement: of a function its decorators and defaults, of a class not its methods."""
    if isinstance(statement, ast.ClassDef) and _makes_no_object(statement, defined):
        return [_Signatures().visit(copy.deepcopy(statement))]
    if not isinstance(statement, _FUNCTIONS):
        return [statement]
    arguments = statement.args
    parts = [*statement.decorator_list, *arguments.defaults, *(one for one in arguments.kw_defaults if one)]
    return [ast.copy_location(ast.Expr(part), part) for part in parts]


def _inside(code: ast.stmt, defined: Definitions) -> Iterator[str]:
    for node in ast.walk(code):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                yield from _root(node)
            case ast.Name(id=name) if name in _REACHING and name not in defined:
                yield ANY
            case ast.Call():
                yield from _given(node, defined)
            case _:
                pass


def _given(call: ast.Call, defined: Definitions) -> Iterator[str]:
    """Whatever a call could change: what its method belongs to, and its arguments."""
    if any(_is_language(one) for name in _root(call.func) for one in defined.get(name, ())):
        return
    match call.func:
        case ast.Name(id=name) if name in _LOOKING and name not in defined:
            return
        case ast.Attribute(attr=method):
            private = any(isinstance(part, ast.Attribute) and part.attr[:2] == "__" for part in ast.walk(call.func))
            roots = [name for name in _root(call.func) if private or is_changeable(name, defined)]
            if method in _READING and not private:
                return
            yield from roots
        case _:
            pass
    for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
        yield from (name for name in _mentioned(argument) if is_changeable(name, defined))


def _is_language(statement: ast.stmt) -> bool:
    """Whether it imports what changes no list or dictionary that it is given."""
    modules = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
    modules += [str(statement.module)] if isinstance(statement, ast.ImportFrom) else []
    return any(module.partition(".")[0] in ("nki", "neuronxcc", "math") for module in modules)


def _root(node: ast.AST) -> Iterator[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _mentioned(argument: ast.expr) -> Iterator[str]:
    """Names that are handed over themselves; calls in it are looked at on their own."""
    waiting: list[ast.AST] = [argument]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif not isinstance(node, (ast.Call, ast.JoinedStr, ast.Compare)):
            waiting += ast.iter_child_nodes(node)
