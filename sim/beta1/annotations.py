"""Shapes that a kernel's text says of its tiles, ``t: nt.tensor[128, 512] = ...``: Beta 1's compiler compares them.

Python keeps no annotation of a local name, so each is looked at once its name is bound, as the next instruction comes.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple

from nki_anvil.sim.beta1.definitions import definition
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.errors import TraceError


class Annotated(NamedTuple):
    """A name of a function, bound once, with the sizes that its annotation lists: numbers, or names of such."""

    code: CodeType
    name: str
    sizes: tuple[int | str, ...]
    line: int


def annotated(code: CodeType, names: Mapping[str, Any]) -> Iterator[Annotated]:
    """Those of a function. Sizes that are computed are not looked at, nor names that are bound again."""
    function = definition(code, names)
    if function is None:
        return
    nodes = list(ast.walk(function))
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    for node in nodes:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            sizes = _sizes(node.annotation)
            if sizes and stored.count(node.target.id) == 1:
                yield Annotated(code, node.target.id, sizes, node.lineno)


def _sizes(annotation: ast.expr) -> tuple[int | str, ...]:
    if not isinstance(annotation, ast.Subscript) or _last_name(annotation.value) != "tensor":
        return ()
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    found = [_size(part) for part in parts]
    return () if None in found else tuple(one for one in found if one is not None)


def _size(part: ast.expr) -> int | str | None:
    if isinstance(part, ast.Name):
        return part.id
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, int) else None


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def compare(pending: list[Annotated]) -> None:
    """Look at those that are bound by now, and take them off; raises TraceError for a tile of another shape."""
    codes = {one.code for one in pending}
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code in codes:
            _compare(pending, frame.f_code, _locals(frame), frame.f_globals)
        frame = frame.f_back


def _locals(frame: FrameType) -> dict[str, Any]:
    """Names and values; until 3.12 Python keeps what it gives, and with it each tile that is there, while it runs."""
    given = frame.f_locals
    taken = dict(given)
    if sys.version_info < (3, 13):
        given.clear()
    return taken


def _compare(pending: list[Annotated], code: CodeType, bound: dict[str, Any], known: Mapping[str, Any]) -> None:
    for one in [one for one in pending if one.code is code and one.name in bound]:
        pending.remove(one)
        value, names = bound[one.name], {**known, **bound}
        wanted = tuple(names.get(size) if isinstance(size, str) else size for size in one.sizes)
        if isinstance(value, Tile) and all(isinstance(size, int) for size in wanted) and wanted != tuple(value.shape):
            raise _unlike(one, tuple(value.shape), wanted)


def _unlike(one: Annotated, shape: tuple[int, ...], wanted: tuple[Any, ...]) -> TraceError:
    return TraceError(
        "NKI-SHAPE",
        f"`{one.name}` has the shape {shape}; line {one.line} says {wanted} of it.",
        remedy="Let the annotation say the shape that the tile has, or leave it out.",
    )
