"""What tracing changes in a text's statements before it executes them, so that no trace hangs on where it is made.

Sets tell no order (``unordered``), texts no places (``telling``), attributes are set on the text's own objects alone,
and annotations mean what they mean to whoever imports the text, but where they name a module that is absent.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any, Optional, TypeVar

from nki_anvil.backends.worker import adding, telling, unordered
from nki_anvil.backends.worker.absent import needing
from nki_anvil.backends.worker.executing import Leaving, execute, fresh_module, plain_name
from nki_anvil.backends.worker.kernel_text import KernelText, describe

_SET, _OWN, _TOLD, _FORMAT = ".set", ".own", ".told", ".format"
"""Names that no text can spell, for what takes the place of a set's display and of an object whose attribute is set,
for what looks through texts that calls return, and for what writes a value in a way that is computed."""


_Node = TypeVar("_Node", bound=ast.AST)


class ForeignAttribute(Exception):
    """A method was handed something that is not of the text's own classes, and sets an attribute of it."""

    code = "TraceUnstable"
    remedy = "Call methods on their own objects, and keep what a call needs in its variables."


def load(text: KernelText) -> tuple[dict[str, Any], list[str]]:
    """Execute the kept statements in a fresh namespace; returns it, and what more was left out.

    Whatever the text raises comes through, except that a statement which needs an absent module is left out as well.
    """
    module = fresh_module(text, plain_name())
    told = telling.watching(module.__name__)
    unordered.guard(module.__dict__)
    telling.guard(module.__dict__, told)
    module.__dict__["sum"] = adding.added
    module.__dict__.update({_SET: unordered.Unordered, _OWN: _owning(module.__name__), _TOLD: told, _FORMAT: format})
    left_out: list[ast.stmt] = []
    changing = _Rewriting(needing(text.statements, text.absent))
    execute(module, text.statements, changing, lambda statement: Leaving(module, statement, left_out.append))
    return module.__dict__, [*map(describe, left_out)]


class _Rewriting(ast.NodeTransformer):
    """Of the statements of one text, of which ``absent`` are the names that are not there."""

    def __init__(self, absent: frozenset[str]) -> None:
        self._absent = absent

    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.generic_visit(node)
        return _call(_SET, ast.copy_location(ast.Tuple(node.elts, ast.Load()), node))

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        self.generic_visit(node)
        return _call(_SET, ast.copy_location(ast.GeneratorExp(node.elt, node.generators), node))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return node if _is_super(node) else _call(_TOLD, node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        return _call(_TOLD, node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        """How a value is written may be a text that is computed, and be handed to what writes it."""
        node.value = self.visit(node.value)
        way = node.format_spec
        if way is None or all(isinstance(part, ast.Constant) for part in ast.walk(way) if isinstance(part, ast.expr)):
            return node
        plain = ast.FormattedValue(node.value, node.conversion, None)
        value = node.value if node.conversion == -1 else ast.JoinedStr([plain])
        written = _call(_FORMAT, ast.copy_location(value, node), self.visit(way))
        return ast.copy_location(ast.FormattedValue(written, -1, None), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _call(_TOLD, node) if isinstance(node.op, ast.Mod) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt] | ast.stmt:
        """What ``%=`` makes is looked through where it is kept, if asking for that again does nothing."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Mod) or any(isinstance(part, ast.Call) for part in ast.walk(node.target)):
            return node
        kept = copy.deepcopy(node.target)
        vars(kept)["ctx"] = ast.Load()
        return [node, ast.copy_location(ast.Expr(_call(_TOLD, kept)), node)]

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
        if not self._absent.isdisjoint(_names(node.annotation)):
            node.annotation = ast.copy_location(ast.Constant(ast.unparse(node.annotation)), node.annotation)
        self.generic_visit(node)
        return node

    def _without_returns(self, node: _Node) -> _Node:
        vars(node)["returns"] = None
        self.generic_visit(node)
        return node


def _is_super(node: ast.Call) -> bool:
    """Python looks for the name to give its function the class."""
    return isinstance(node.func, ast.Name) and node.func.id == "super"


def _call(name: str, *given: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(given), []), given[0])


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
