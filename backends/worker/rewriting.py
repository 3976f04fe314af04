"""What tracing changes in a text's statements before it executes them, so that no trace hangs on where it is made.

Sets tell no order (``unordered``), attributes are set on the text's own objects alone, and annotations
mean what they mean to whoever imports the text, but where they name a module that is absent.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Collection, Sequence
from typing import Any, Optional, TypeVar

from nki_anvil.backends.worker import unordered

_SET, _OWN, _ABSENT, _LEAVE = ".set", ".own", ".absent", ".leave"
"""Names that no text can spell, for what takes the place of a set's display and of an object whose attribute is set,
and for what happens where a statement needs a module that is absent."""

_Node = TypeVar("_Node", bound=ast.AST)


class ForeignAttribute(Exception):
    """A method was handed something that is not of the text's own classes, and sets an attribute of it."""

    code = "TraceUnstable"
    remedy = "Call methods on their own objects, and keep what a call needs in its variables."


def prepare(module: types.ModuleType, absent: type[Exception], leave_out: Callable[[int], None]) -> None:
    """Put into the module's namespace what rewritten statements ask for.

    The number of a statement that raises ``absent`` is handed to ``leave_out``.
    """
    unordered.guard(module.__dict__)
    module.__dict__.update(
        {
            _SET: unordered.Unordered,
            _OWN: _owning(module.__name__),
            _ABSENT: absent,
            _LEAVE: leave_out,
        }
    )


def rewritten(statements: Sequence[ast.stmt], absent: Collection[str]) -> ast.Module:
    """All of them as one module, which goes on after a statement that needs what is absent."""
    as_text = any(map(_is_future, statements))
    rewriting = _Rewriting(frozenset(absent), as_text)
    tries = [_tried(n, rewriting.visit(copy.deepcopy(s))) for n, s in enumerate(statements) if not _is_future(s)]
    return ast.fix_missing_locations(ast.Module(tries, []))


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _tried(number: int, statement: ast.stmt) -> ast.stmt:
    leave = ast.Expr(ast.Call(ast.Name(_LEAVE, ast.Load()), [ast.Constant(number)], []))
    handler = ast.ExceptHandler(ast.Name(_ABSENT, ast.Load()), None, [leave])
    return ast.copy_location(ast.Try([statement], [handler], [], []), statement)


class _Rewriting(ast.NodeTransformer):
    """Of the statements of one text. ``as_text`` says whether Python keeps all its annotations as text."""

    def __init__(self, absent: frozenset[str], as_text: bool) -> None:
        self._absent = absent
        self._as_text = as_text

    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.generic_visit(node)
        return _call(_SET, ast.copy_location(ast.Tuple(node.elts, ast.Load()), node))

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        self.generic_visit(node)
        return _call(_SET, ast.copy_location(ast.GeneratorExp(node.elt, node.generators), node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Attribute(_call(_OWN, node.value), node.attr, node.ctx), node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """No kernel can read the annotations of functions."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self._without_returns(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return self._without_returns(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        """Dataclasses tell their fields by annotations."""
        if self._as_text or not self._absent.isdisjoint(_names(node.annotation)):
            node.annotation = ast.copy_location(ast.Constant(ast.unparse(node.annotation)), node.annotation)
        self.generic_visit(node)
        return node

    def _without_returns(self, node: _Node) -> _Node:
        vars(node)["returns"] = None
        self.generic_visit(node)
        return node


def _call(name: str, given: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [given], []), given)


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _owning(module: Optional[str]) -> Callable[[Any], Any]:
    def own(one: Any) -> Any:
        if isinstance(one, type) or type(one).__module__ != module:
            raise ForeignAttribute(
                f"The kernel sets an attribute of {type(one).__name__}, which is not its own object."
            )
        return one

    return own
