"""Python text as a tree, one text at a time.

CPython 3.11 and 3.12 count the depth of a tree under construction per interpreter, not per thread: where two threads
parse at once, one of them can fail with "AST constructor recursion depth mismatch" (python/cpython issue 106905).
"""

from __future__ import annotations

import ast
import threading
from typing import Final

_ONE: Final = threading.Lock()


def parsed(text: str, filename: str = "<text>") -> ast.Module:
    """The tree of a module's text; raises what ``ast.parse`` raises."""
    with _ONE:
        return ast.parse(text, filename=filename)


def parsed_expression(text: str) -> ast.Expression:
    """The tree of a single expression; raises what ``ast.parse`` raises."""
    with _ONE:
        return ast.parse(text, mode="eval")
