"""What stands for a module that is not given to a kernel, and what of a text cannot be made without one."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Optional

_OF_THEIR_OWN = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""What binds names for itself alone."""
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class AbsentModule(ImportError):
    """Kernel text used a module that is not given to it."""

    code = "AbsentModule"
    remedy = "Write the kernel with nki, numpy for dtypes and constants, and math."


class Absent:
    """Stands for a module that was left out: it can be named in annotations and defaults, not used for anything."""

    def __init__(self, name: str, line: Optional[int] = None) -> None:
        self._name = name
        self._line = line

    def __getattr__(self, attribute: str) -> Absent:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Absent(f"{self._name}.{attribute}", self._line)

    def __or__(self, _other: object) -> Absent:
        return self

    __ror__ = __or__

    def _refuse(self, *_arguments: Any, **_named: Any) -> Any:
        why = f", since line {self._line} needs a module that is not" if self._line else ""
        raise AbsentModule(f"`{self._name}` is not there when a kernel is traced{why}.")

    __call__ = __mro_entries__ = _refuse
    # Asked for its truth, its text or what it equals, the module itself might have said something else.
    __bool__ = __eq__ = __ne__ = __hash__ = __repr__ = __str__ = __format__ = _refuse


def needing(statements: Iterable[ast.stmt], absent: Collection[str]) -> frozenset[str]:
    """Names of absent modules, and of what cannot be made without them."""
    found = set(absent)
    for statement in statements:
        if not found.isdisjoint(mentioned(statement)):
            found.update(targets(statement))
    return frozenset(found)


def mentioned(statement: ast.stmt) -> Iterator[str]:
    """Names in what executing a statement evaluates, but for annotations and what stands inside of a definition."""
    parts: list[ast.AST] = [statement]
    if isinstance(statement, ast.ClassDef):
        parts = [*statement.bases, *statement.decorator_list]
    elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts = [*statement.decorator_list, *statement.args.defaults]
    elif isinstance(statement, ast.AnnAssign):
        parts = [statement.value] if statement.value else []
    return (node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name))


def targets(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement binds where it stands."""
    if isinstance(statement, DEFINITIONS):
        yield statement.name
    else:
        yield from (n.id for n in _around(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _around(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, _OF_THEIR_OWN):
        for part in ast.iter_child_nodes(node):
            yield from _around(part)
