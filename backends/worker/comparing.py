"""Objects of a text's classes are compared by their fields, or not at all.

Python compares those without ``@dataclass`` by which one they are; compilers up to NKI 0.6 by what they hold (NKI
language guide of SDK 2.32, and its announcement of 2026-10-16).
"""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


class ComparedByIdentity(Exception):
    """Two objects were compared, and their class does not say how."""

    code = "TraceUnstable"
    remedy = "Compare their fields, or write @dataclass above the class."


def by_fields(one: _Class) -> _Class:
    """The class, whose objects say so where Python would compare two of them by which they are."""
    if one.__eq__ is object.__eq__ and not issubclass(one, (Enum, BaseException)):
        one.__eq__ = _refusing
    return one


def _refusing(one: Any, other: Any) -> Any:
    if one is other or type(one) is not type(other):
        return NotImplemented
    raise ComparedByIdentity(f"Two objects of {type(one).__name__} are compared: to Python they are never equal.")
