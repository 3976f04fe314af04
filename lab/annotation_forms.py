"""How a type is written: Python executes annotations when a text is imported, and tracing does not.

Names, what stands behind dots in a module, constants, and these in brackets or joined by ``|``: nothing of it binds a
name, runs a loop, or asks an attribute of what the text itself defines.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

_PARTS: Final = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Tuple, ast.List, ast.Starred)


def more_than_types(
    annotations: Iterator[ast.expr], defined: Mapping[str, Sequence[ast.stmt]], importing: tuple[type[ast.stmt], ...]
) -> Iterator[ast.expr]:
    """Those of another form; ``defined`` has the statements that bind each of the text's names."""
    own = {name for name, found in defined.items() if not all(isinstance(one, importing) for one in found)}
    for annotation in annotations:
        if not _is_type(annotation) or any(_root(node) in own for node in _attributes(annotation)):
            yield annotation


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(op=ast.BitOr()) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            pass
        case _ if not isinstance(node, _PARTS):
            return False
        case _:
            pass
    return all(_is_type(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))


def _attributes(annotation: ast.expr) -> Iterator[ast.Attribute]:
    return (node for node in ast.walk(annotation) if isinstance(node, ast.Attribute))


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
