"""What tracing changes in a text's statements before it executes them, so that no trace hangs on where it is made.

There are no sets (``unordered``), texts tell no places (``telling``), attributes are set on the text's own objects
alone, and annotations mean what they mean to whoever imports the text, but where they name a module that is absent.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any, Optional, TypeVar

from nki_anvil.backends.worker import adding, asking, comparing, regions, telling, unordered
from nki_anvil.backends.worker.absent import needing
from nki_anvil.backends.worker.executing import Leaving, execute, fresh_module, plain_name
from nki_anvil.backends.worker.kernel_text import KernelText, describe

_CALL, _OWN, _TOLD, _FORMAT, _MOD, _SHOWN = ".call", ".own", ".told", ".format", ".mod", ".shown"
_THROUGH, _ASKED, _REMAINDER, _COMPARED = ".through", ".asked", ".remainder", ".compared"
"""Names that no text can spell, for what makes its calls, for what looks at objects whose attribute is set, at texts
that are made and at values before they are, for what writes a value in a way that is computed, for ``%``, for what
looks at what is gone through, for what asks for attributes, for ``%`` in an assertion, and for what keeps a class'
objects from being compared by what they are."""


_SETS = (set, frozenset)
"""What a kernel reaches does not call them: what else stands in its file may."""

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
    module.__dict__.update({_OWN: _owning(module.__name__), _TOLD: told, _FORMAT: format, _SHOWN: telling.shown})
    module.__dict__.update({_CALL: _calling(module.__name__, told), _MOD: telling.remainder})
    module.__dict__.update({_THROUGH: unordered.through, _ASKED: asking.asking(module.__name__)})
    module.__dict__.update({_REMAINDER: telling.remainder_of_numbers, _COMPARED: comparing.by_fields})
    left_out: list[ast.stmt] = []
    changing = _Rewriting(needing(text.statements, text.absent))
    execute(module, text.statements, changing, lambda statement: Leaving(module, statement, left_out.append))
    return module.__dict__, [*map(describe, left_out)]


class _Rewriting(ast.NodeTransformer):
    """Of the statements of one text, of which ``absent`` are the names that are not there."""

    def __init__(self, absent: frozenset[str]) -> None:
        self._absent = absent
        self._asserted = False
        """Whether this stands in what an assertion asks."""

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        """Its message is written where it fails, and so by no kernel."""
        self._asserted = True
        node.test = self.visit(node.test)
        self._asserted = False
        node.msg = self.visit(node.msg) if node.msg is not None else None
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if _is_super(node):
            return node
        return ast.copy_location(ast.Call(ast.Name(_CALL, ast.Load()), [node.func, *node.args], node.keywords), node)

    def visit_Starred(self, node: ast.Starred) -> ast.Starred:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _call(_THROUGH, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Of a dictionary's keys, `&=` and its like make a set."""
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        return [node, ast.copy_location(ast.Expr(_call(_THROUGH, name)), node)]

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.iter = _call(_THROUGH, node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = _call(_THROUGH, node.iter)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        return _call(_TOLD, node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        """How a value is written may be a text that is computed, and be handed to what writes it."""
        node.value = _call(_SHOWN, self.visit(node.value))
        way = node.format_spec
        if way is None or all(isinstance(part, ast.Constant) for part in ast.walk(way) if isinstance(part, ast.expr)):
            return node
        plain = ast.FormattedValue(node.value, node.conversion, None)
        value = node.value if node.conversion == -1 else ast.JoinedStr([plain])
        written = _call(_FORMAT, ast.copy_location(value, node), self.visit(way))
        return ast.copy_location(ast.FormattedValue(written, -1, None), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod):
            return _call(_TOLD, _call(_REMAINDER if self._asserted else _MOD, node.left, node.right))
        return _call(_TOLD, _call(_THROUGH, node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            return node if _is_super(node.value) else _call(_ASKED, node.value, ast.Constant(node.attr))
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

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        node.decorator_list.insert(0, ast.copy_location(ast.Name(_COMPARED, ast.Load()), node))
        return node

    def _without_returns(self, node: _Node) -> _Node:
        vars(node)["returns"] = None
        self.generic_visit(node)
        return node


def _is_super(node: ast.expr) -> bool:
    """Python looks for the name to give its function the class."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


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


def _calling(module: str, told: Callable[[Any], Any]) -> Callable[..., Any]:
    """What makes a text's calls; a text itself has Python's own builtins, and no way to ask whether it is watched."""

    def call(function: Any, /, *given: Any, **named: Any) -> Any:
        if function is str or function is repr or _is_formatting(function):
            for one in (*given, *named.values()):
                telling.shown(one)
        if (function is getattr or function is hasattr) and len(given) > 1:
            asking.check(given[0], given[1], module)
        if function is type:
            asking.check_class(*given)
        if (function is isinstance or function is issubclass) and len(given) > 1:
            asking.check_instance(given[0], given[1])
        for one in (*given, *named.values()):
            telling.check_numbers(one)
        if regions.is_told_where(function):
            given, named = tuple(map(regions.plain, given)), {name: regions.plain(one) for name, one in named.items()}
        made = (adding.added if function is sum else function)(*given, **named)
        made = regions.veiled(made, *given[:1]) if function is getattr else made
        return told(made if function in _SETS else unordered.through(made))

    around = {**globals(), "__name__": module}  # where classes that are made say they are of
    return types.FunctionType(call.__code__, around, "call", None, call.__closure__)


def _is_formatting(function: Any) -> bool:
    return isinstance(getattr(function, "__self__", None), str) and getattr(function, "__name__", "") == "format"
