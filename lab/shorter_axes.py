"""Reductions and scans of a reference that do without the last place of their axis, or without the first.

A kernel that counts, or looks whether all of a row is so, and leaves places out is wrong only in rows in which these
decide: few draws hold a run that goes on to a row's very end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

SHOWN: Final = 60
"""Characters of a call that are said."""
_EITHER_END: Final = frozenset({"all", "any", "sum", "prod", "max", "min"})
"""What comes of a row without its first place as well as of one without its last."""
_REDUCTIONS: Final = _EITHER_END | {"argmax", "argmin"}
_LARGEST: Final = frozenset({"max", "min"})
_SCANS: Final = frozenset({"cumprod", "accumulate"})
"""Of sums up to each place the last is often not asked for."""
_NUMPY: Final = frozenset({"np", "numpy"})
_FLAT: Final = "np.ravel({whole})[{kept}]"
_ALONG: Final = "np.moveaxis(np.moveaxis({whole}, {axis}, 0)[{kept}], 0, {axis})"
_SCAN: Final = (
    "np.take({call}, np.minimum(np.arange(np.shape({whole})[{axis}]), np.shape({whole})[{axis}] - 2), {axis})"
)

Shorter = tuple[ast.expr, ast.expr, str]
"""A call, what stands instead, and what that leaves out, in words."""


class _Along(NamedTuple):
    """A reduction or a scan: of what, and along which axis (None of all of it)."""

    name: str
    whole: ast.expr
    axis: str | None


def shorter(node: ast.AST) -> Iterator[Shorter]:
    """Of a call along one axis, as a method or as NumPy's function, and of a reduction of all of an array.

    Not of the largest of what has a name: beside exponentials any bound will do for it.
    """
    if not isinstance(node, ast.Call) or (along := _along(node)) is None or _is_bound(along):
        return
    call = ast.unparse(node)
    said = call if len(call) <= SHOWN else call[: SHOWN - 3] + "..."
    names = {"whole": ast.unparse(along.whole), "axis": along.axis}
    if along.name in _SCANS:
        if along.axis is not None:
            yield node, _expression(_SCAN.format(call=call, **names)), f"`{said}` goes on to the last place"
        return
    form = _FLAT if along.axis is None else _ALONG
    ends = {"last": ":-1", "first": "1:"} if along.name in _EITHER_END else {"last": ":-1"}
    for end, kept in ends.items():
        less = _expression(form.format(kept=kept, **names))
        yield node, _of_another(node, less), f"`{said}` takes in the {end} place"


def _is_bound(along: _Along) -> bool:
    return along.name in _LARGEST and isinstance(along.whole, (ast.Name, ast.Attribute))


def _along(call: ast.Call) -> _Along | None:
    """None where it is neither, or along several axes."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _NUMPY:
            arguments = call.args
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=module)), attr="accumulate" as name) if (
            module in _NUMPY
        ):
            arguments = call.args
        case ast.Attribute(value=whole, attr=name):
            arguments = [whole, *call.args]
        case _:
            return None
    if name not in _REDUCTIONS | _SCANS or not 0 < len(arguments) <= 2:
        return None
    given = [*arguments[1:], *(one.value for one in call.keywords if one.arg == "axis")]
    return _Along(name, arguments[0], ast.unparse(given[0]) if given else None) if _one_axis(given) else None


def _one_axis(given: Sequence[ast.expr]) -> bool:
    """Whether it is a number at most; what a name holds may be several."""
    match given:
        case [] | [ast.Constant(value=int())] | [ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int()))]:
            return True
        case _:
            return False


def _of_another(call: ast.Call, whole: ast.expr) -> ast.Call:
    """The same of another array."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=module)) if module in _NUMPY:
            return ast.Call(call.func, [whole, *call.args[1:]], call.keywords)
        case ast.Attribute(attr=name):
            return ast.Call(ast.Attribute(whole, name, ast.Load()), call.args, call.keywords)
        case _:
            return call


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
