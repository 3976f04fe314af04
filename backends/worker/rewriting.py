"""What tracing changes in a text's statements before it executes them, so that no trace hangs on where it is made.

Sets tell no order of their own (``unordered``), attributes are set on the text's own objects alone, and annotations
mean what they mean to whoever imports the text, but where they name a module that is absent.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any, Optional, TypeVar

from nki_anvil.backends.worker import unordered

_SET, _OWN = ".set", ".own"
"""What takes the place of a set's display, and of an object whose attribute is set: names that no text can spell."""

_Node = TypeVar("_Node", bound=ast.AST)


class ForeignAttribute(Exception):
    """A method was handed something that is not of the text's own classes, and sets an attribute of it."""

    code = "TraceUnstable"
    remedy = "Call methods on their own objects, and keep what a call needs in its variables."


def prepare(module: types.ModuleType) -> None:
    """Put into the module's namespace what rewritten statements ask for."""
    unordered.guard(module.__dict__)
    module.__dict__.update({_SET: unordered.Unordered, _OWN: _owning(module.__name__)})


class Rewriting(ast.NodeTransformer):
    """Of the statements of one text. ``as_text`` says whether Python keeps all its annotations as text."""

    def __init__(self, absent: Callable[[str], bool], as_text: bool) -> None:
        self._absent = absent
        self._as_text = as_text

    def statement(self, statement: ast.stmt) -> ast.Module:
        return ast.fix_missing_locations(ast.Module([self.visit(statement)], []))

    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.generic_visit(node)
        return _call(_SET, ast.copy_location(ast.Tuple(node.elts, ast.Load()), node))

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        self.generic_visit(node)
        return _call(_SET, ast.copy_location(ast.ListComp(node.elt, node.generators), node))

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
        if self._as_text or any(map(self._absent, _names(node.annotation))):
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
