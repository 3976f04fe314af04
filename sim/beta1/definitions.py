"""The text of a kernel's function, for what the compiler reads in it and Python does not do."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from nki_anvil.sim.parsing import parsed

Place = tuple[int, int]
"""A line, and a column of it."""


def definition(code: CodeType, names: Mapping[str, Any]) -> ast.FunctionDef | None:
    """The statement that defines a function of a module with these names; None where its text is not there."""
    text = "".join(linecache.getlines(code.co_filename, dict(names)))
    return _definitions(text).get((code.co_name, code.co_firstlineno))


@lru_cache(maxsize=8)
def _definitions(text: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """A text's functions by name and first line, decorators included."""
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {(one.name, min([one.lineno, *(d.lineno for d in one.decorator_list)])): one for one in functions}


def place_of(frame: FrameType) -> Place | None:
    """Where the expression begins that a frame evaluates."""
    line, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return None if line is None or column is None else (line, column)
