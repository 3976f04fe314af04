"""Which global names a statement binds and which it asks for, as Python's own symbol tables tell.

Annotations of functions do not count: tracing never executes them. Those of classes tell dataclasses their fields.
"""

from __future__ import annotations

import ast
import copy
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Names:
    """Global names, by who binds them and when."""

    bound: frozenset[str]
    """Assigned, deleted, defined or imported when the statement is executed."""
    later: frozenset[str]
    """Declared ``global`` in a function of it, and bound when that is called."""
    asked: frozenset[str]
    """When it is executed, or by functions of it when they are called."""


@lru_cache(maxsize=512)
def names(statement: ast.stmt) -> Names:
    """Of one statement at module level. Raises SyntaxError for what Python would not import."""
    bare = ast.fix_missing_locations(_Bare().visit(copy.deepcopy(statement)))
    try:
        top = symtable.symtable(ast.unparse(bare), "kernel.py", "exec")
    except SyntaxError as error:
        error.lineno = statement.lineno
        raise
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    asked = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    later: set[str] = set()
    for symbol, of_class in _inner(top):
        # What a class binds is the global before it does, also where it adds to it.
        if of_class or (symbol.is_global() and symbol.is_referenced()):
            asked.add(symbol.get_name())
        if symbol.is_declared_global() and (symbol.is_assigned() or symbol.is_imported()):
            later.add(symbol.get_name())
    return Names(frozenset(bound), frozenset(later), frozenset(asked))


def _inner(table: symtable.SymbolTable) -> Iterator[tuple[symtable.Symbol, bool]]:
    for child in table.get_children():
        yield from ((symbol, child.get_type() == "class") for symbol in child.get_symbols())
        yield from _inner(child)


class _Bare(ast.NodeTransformer):
    """Without functions' annotations, ``import *``, which names nothing, and f-strings that cannot be written again."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        return ast.Pass() if node.names[0].name == "*" else node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        node.returns = None
        return self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        held = [part for value in node.values if isinstance(value, ast.FormattedValue) for part in _held(value)]
        return self.generic_visit(ast.Tuple(held, ast.Load()))


def _held(value: ast.FormattedValue) -> list[ast.expr]:
    return [value.value] if value.format_spec is None else [value.value, value.format_spec]
