"""Tables of a reference without one of their elements, or without their second half.

A list of words that a filter knows, codes and what they stand for, a set of what is blocked: a kernel that knows fewer
of them is wrong only where one of the others occurs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from nki_anvil.lab.arithmetic import is_array

LISTED: Final = 16
"""Elements of a table of which each is left out; of longer ones the first and the last."""
SHOWN: Final = 40
"""Characters of an element that is said."""

Shorter = tuple[ast.expr, ast.expr, str]
"""What a name stands for, what it stands for instead, and what that leaves out, in words."""


def shorter(statement: ast.stmt, held: Mapping[str, Any]) -> Iterator[Shorter]:
    """Of an assignment to one name. Elements that are written out in a list are the text's own: those are left out
    where they stand."""
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=whole)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as whole)
        ):
            table = held.get(name)
            count = _length(table)
            if count > 1 and not _written_out(whole, count):
                for number in range(count) if count <= LISTED else (0, count - 1):
                    yield whole, _kept(table, whole, f"n != {number}"), f"{_said(table, number)} is in `{name}`"
                if count > 2:
                    half = count // 2
                    yield whole, _kept(table, whole, f"n < {half}"), f"`{name}` has more than {half} of its {count}"
        case _:
            pass


def _length(table: Any) -> int:
    if is_array(table):
        return table.shape[0] if table.ndim else 0
    known = isinstance(table, (list, tuple, dict, set, frozenset, bytes, str))
    return len(cast("bytes", table)) if known else 0


def _written_out(whole: ast.expr, count: int) -> bool:
    lists = [node for node in ast.walk(whole) if isinstance(node, (ast.List, ast.Tuple))]
    return count <= LISTED and any(len(node.elts) == count for node in lists)


def _kept(table: Any, whole: ast.expr, which: str) -> ast.expr:
    """The elements of which ``which`` holds, ``n`` being their number; in the same kind of table."""
    if is_array(table):
        text = f"(lambda all: all[[n for n in range(len(all)) if {which}]])()"
    elif isinstance(table, dict):
        text = f"(lambda all: type(all)((k, v) for n, (k, v) in enumerate(all.items()) if {which}))()"
    elif isinstance(table, str):
        text = f"(lambda all: ''.join(one for n, one in enumerate(all) if {which}))()"
    else:
        order = "sorted(all, key=repr)" if isinstance(table, (set, frozenset)) else "all"
        text = f"(lambda all: type(all)(one for n, one in enumerate({order}) if {which}))()"
    call = cast(ast.Call, ast.parse(text, mode="eval").body)
    call.args = [whole]
    return call


def _said(table: Any, number: int) -> str:
    if is_array(table):
        return f"element {number}"
    ordered = sorted(cast("set[Any]", table), key=repr) if isinstance(table, (set, frozenset)) else list(table)
    return f"`{str(repr(ordered[number]))[:SHOWN]}`"
