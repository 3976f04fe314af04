"""What tracing leaves out of a text must not make another kernel of it for whoever imports the text.

Printing, benchmarks, tests and scripts in the same file are left out and do no harm; a statement that would change what
the entry function reaches does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from nki_anvil.backends.worker.kernel_text import KernelText
from nki_anvil.lab import bindings, scopes
from nki_anvil.lab.changing import ANY, Definitions, changes, is_changeable
from nki_anvil.lab.kernel_reading import Objection, reached

_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)

_ASIDE: Final = 'or move it under `if __name__ == "__main__":`'


def objections(text: KernelText, entry: str) -> list[Objection]:
    """Every left-out statement that would change what ``entry`` reaches, by line."""
    kept = bindings.definitions(text.statements)
    needed = reached(text, entry, kept)
    skipped = [*_imported(text.skipped)]
    defined = bindings.definitions([*text.statements, *skipped])
    aliases = _aliases([*text.statements, *skipped], needed, defined)
    found = [*_annotations(text, needed), *_partly(text, aliases, defined)]
    for statement in skipped:
        if _is_star(statement):
            found.append(_objection(statement, "`import *` of a module that is not there may bind any name", "Name it"))
        for name in sorted(changes(statement, defined).bound & needed):
            if not _settled(name, statement, kept):
                found.append(_changed(statement, name))
        found += _changed_inside(statement, aliases, defined)
    return sorted(set(found), key=lambda objection: objection.line)


def _imported(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """What an import runs: of the main guard only its other branch."""
    for statement in statements:
        if isinstance(statement, ast.If) and _is_main(statement.test):
            yield from statement.orelse
        else:
            yield statement


def _is_main(test: ast.expr) -> bool:
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
        case ast.Compare(left=ast.Constant(value="__main__"), ops=[ast.Eq()], comparators=[ast.Name(id="__name__")]):
            return True
        case _:
            return False


def _is_star(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names)


def _settled(name: str, statement: ast.stmt, kept: Definitions) -> bool:
    """Whether what is kept says the same without it: it binds the name anew, and had not bound it before.

    A module that is not there alone is a name that fails when it is used.
    """
    lines = [one.lineno for one in kept.get(name, ())]
    if not lines:
        return isinstance(statement, (ast.Import, ast.ImportFrom))
    return min(lines) > statement.lineno


def _aliases(statements: Sequence[ast.stmt], needed: frozenset[str], defined: Definitions) -> frozenset[str]:
    """What the entry reaches, and names that may stand for the same objects."""
    variables = [scopes.names(one) for one in statements if not isinstance(one, _DEFINITIONS)]
    found = set(needed)
    while True:
        shared = {name for name in found if is_changeable(name, defined)}
        more = {name for one in variables if one.asked & shared for name in one.bound} - found
        if not more:
            return frozenset(found)
        found |= more


def _changed_inside(statement: ast.stmt, aliases: frozenset[str], defined: Definitions) -> Iterator[Objection]:
    inside = changes(statement, defined).inside
    for name in sorted(inside & aliases):
        yield _changed(statement, name)
    if ANY in inside:
        what = "A statement that tracing leaves out may change any name of the kernel"
        yield _objection(statement, what, f"Remove it, {_ASIDE}")


def _partly(text: KernelText, aliases: frozenset[str], defined: Definitions) -> Iterator[Objection]:
    """Statements that end where they need a module that is not there, and change more after that."""
    for statement in text.statements:
        if not scopes.names(statement).asked.isdisjoint(text.absent):
            yield from _changed_inside(statement, aliases, defined)


def _annotations(text: KernelText, needed: frozenset[str]) -> Iterator[Objection]:
    """Python before 3.14 executes annotations, which tracing does not."""
    for statement in text.statements:
        for annotation in _annotated(statement):
            if any(isinstance(node, ast.NamedExpr) for node in ast.walk(annotation)):
                yield _objection(annotation, "An annotation binds a name, and tracing leaves it out", "Bind it before")
            elif any(isinstance(n, ast.Call) for n in ast.walk(annotation)) and _mentions(annotation, needed):
                what = "An annotation calls with what the kernel uses, and tracing leaves it out"
                yield _objection(annotation, what, "Write the type alone")


def _annotated(statement: ast.stmt) -> Iterator[ast.expr]:
    for node in ast.walk(statement):
        for field in ("annotation", "returns"):
            annotation = getattr(node, field, None)
            if isinstance(annotation, ast.expr):
                yield annotation


def _mentions(node: ast.expr, needed: frozenset[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in needed for part in ast.walk(node))


def _changed(statement: ast.stmt, name: str) -> Objection:
    what = f"`{name}`, which the kernel uses, is changed by what tracing leaves out"
    return _objection(statement, what, f"Write it as plain assignments, {_ASIDE}")


def _objection(node: ast.AST, what: str, remedy: str) -> Objection:
    return Objection(getattr(node, "lineno", 0), f"{what}. {remedy}.")
