"""Which tests compare which instructions with an independent expression in NumPy, read from the tests themselves."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])
FOLDER = Path(__file__).parent / "sim"


def covers(*instructions: str) -> Callable[[Test], Test]:
    """Declare that a test compares these instructions with NumPy over drawn shapes, formats or views."""
    assert instructions
    return lambda test: test


class Declaration(NamedTuple):
    """One test's claim."""

    test: str
    instructions: tuple[str, ...]
    drawn: bool
    """Whether hypothesis draws its arguments."""


@functools.cache
def declarations() -> tuple[Declaration, ...]:
    """All claims, in the order of files and lines."""
    return tuple(claim for path in sorted(FOLDER.rglob("test_*.py")) for claim in _claims(path))


def _claims(path: Path) -> Iterator[Declaration]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            calls = [d for d in node.decorator_list if isinstance(d, ast.Call) and isinstance(d.func, ast.Name)]
            names = {call.func.id: call for call in calls if isinstance(call.func, ast.Name)}
            if "covers" in names:
                given = [a.value for a in names["covers"].args if isinstance(a, ast.Constant)]
                yield Declaration(node.name, tuple(map(str, given)), "given" in names)


def coverage_by_instruction() -> dict[str, list[str]]:
    """The tests of each instruction."""
    found: dict[str, list[str]] = {}
    for claim in declarations():
        for name in claim.instructions:
            found.setdefault(name, []).append(claim.test)
    return found
