"""Objects of a text's classes are compared by their fields, or not at all.

Python compares those without ``@dataclass`` by which one they are; compilers up to NKI 0.6 by what they hold (NKI
language guide of SDK 2.32, and its announcement of 2026-10-16).
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


class ComparedByIdentity(Exception):
    """Two objects were compared, and their class does not say how."""

    code = "TraceUnstable"
    remedy = "Compare their fields, or write @dataclass above the class."


def by_fields(one: _Class) -> _Class:
    """The class, whose objects say so where Python would compare two of them by which they are."""
    kind: Any = one
    if kind.__eq__ is object.__eq__ and not issubclass(kind, (Enum, BaseException)):
        kind.__eq__ = _refusing
    elif is_dataclass(kind):
        kind.__eq__ = _by_all(kind)
    return one


def _by_all(one: Any) -> Any:
    """Its way to compare, which counts declared fields, for objects that hold nothing else."""
    own, counted = one.__eq__, {field.name for field in fields(one) if field.compare}

    def compared(self: Any, other: Any) -> Any:
        if type(self) is type(other) and (_held(self) | _held(other)) - counted:
            raise ComparedByIdentity(
                f"Two objects of {type(self).__name__} are compared that hold more than its fields."
            )
        return own(self, other)

    return compared


def _held(one: Any) -> set[str]:
    return {*getattr(one, "__dict__", ())}


def _refusing(one: Any, other: Any) -> Any:
    if one is other or type(one) is not type(other):
        return NotImplemented
    raise ComparedByIdentity(f"Two objects of {type(one).__name__} are compared: to Python they are never equal.")
