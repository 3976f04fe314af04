"""Which names a syntax tree binds, and where: definitions, imports, arguments, the scopes of functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from nki_anvil.lab import scopes

COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES: Final = (ast.FunctionDef, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)


def definitions(statements: Sequence[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Top-level statements by the names they bind; imports are read wherever they stand.

    Raises SyntaxError for what Python would not import.
    """
    defined: dict[str, list[ast.stmt]] = defaultdict(list)
    for statement in statements:
        for name in bound(statement):
            defined[name].append(statement)
        if isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names):
            defined["*"].append(statement)
    return defined


def bound(statement: ast.stmt) -> frozenset[str]:
    """The global names that a statement binds when it is executed, also by ``global``, or ``:=`` in a comprehension."""
    found = scopes.names(statement)
    return found.bound if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) else found.bound | found.later


def modules(statements: Iterable[ast.AST]) -> dict[str, frozenset[str]]:
    """Names that stand for a module or a member of one, by dotted path: all of those that they have somewhere."""
    paths: dict[str, set[str]] = defaultdict(set)
    for statement in statements:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                top = alias.name.partition(".")[0]
                paths[alias.asname or top].add(alias.name if alias.asname else top)
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                path = f"{'.' * statement.level}{statement.module or ''}.{alias.name}"  # beside the file is another one
                paths[alias.asname or alias.name].add(path)
    return {name: frozenset(found) for name, found in paths.items()}


def dotted(node: ast.AST, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The paths of a name that leads into a ``known`` module, or of what stands behind its dots; else none."""
    match node:
        case ast.Name(id=name):
            return known.get(name, frozenset())
        case ast.Attribute(value=value, attr=attribute):
            return frozenset(f"{above}.{attribute}" for above in dotted(value, known))
        case _:
            return frozenset()


def stored(tree: ast.AST) -> Iterator[str]:
    """Every name that a definition binds somewhere inside, but by imports."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.alias):
            yield from binds(node)


def attributes(statements: Iterable[ast.AST]) -> frozenset[str]:
    """What a text's own objects have: names that its classes bind, and attributes that it sets."""
    found: set[str] = set()
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.ClassDef):
            found.update(name for part in in_scope(node) for name in binds(part))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return frozenset(found)


def own(function: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """What a function binds itself, and not the functions, classes and comprehensions in it."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    found = {argument.arg for argument in named if argument is not None}
    if isinstance(function, ast.FunctionDef):
        found.update(name for node in in_scope(function) for name in binds(node))
    return frozenset(found)


def in_scope(definition: ast.FunctionDef | ast.ClassDef | ast.Module) -> Iterator[ast.AST]:
    """What stands in a body, but for the insides of functions, classes and comprehensions in it."""
    waiting: list[ast.AST] = list(definition.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def is_given_self(function: ast.FunctionDef) -> bool:
    """Whether its first parameter is ``self``, which nothing in it binds to anything else."""
    given = [*function.args.posonlyargs, *function.args.args]
    rebound = any("self" in binds(node) for node in ast.walk(function) if not isinstance(node, ast.arg))
    return bool(given) and given[0].arg == "self" and not rebound


def binds(node: ast.AST) -> Iterator[str]:
    """The names that one node binds by itself."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case _:
            pass


def defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [*arguments.defaults, *(default for default in arguments.kw_defaults if default is not None)]


def type_parameters(definition: ast.FunctionDef | ast.ClassDef) -> list[ast.AST]:
    """Their bounds and defaults are executed when somebody asks; Python has them from 3.12 on."""
    return list(getattr(definition, "type_params", []))


def annotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    for node in [*ast.walk(function.args), function]:
        annotation = node.annotation if isinstance(node, ast.arg) else getattr(node, "returns", None)
        if annotation is not None:
            yield annotation
