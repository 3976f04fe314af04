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
    """The class, whose objects say so where Python would compare two of them by which they are, or by their classes."""
    kind: Any = one
    if issubclass(kind, Enum):
        kind.__eq__, kind.__ne__ = _by_members(kind.__eq__), _by_members(kind.__ne__)
    elif kind.__eq__ is object.__eq__ and not issubclass(kind, BaseException):
        kind.__eq__ = _refusing
    elif is_dataclass(kind):
        kind.__eq__ = _by_all(kind)
    return one


def _by_all(one: Any) -> Any:
    """Its way to compare, which counts declared fields, for objects that hold nothing else."""
    own, counted = one.__eq__, {field.name for field in fields(one) if field.compare}

    def compared(self: Any, other: Any) -> Any:
        if type(self) is type(other) and {*_held(self), *_held(other)} - counted:
            raise ComparedByIdentity(
                f"Two objects of {type(self).__name__} are compared that hold more than its fields."
            )
        _require_one_class(self, other)
        return own(self, other)

    return compared


def _by_members(own: Any) -> Any:
    """An enumeration's way to compare, for members of its own: those of another one may be alike in name and value, and
    Python takes those of ``IntEnum`` for numbers."""

    def compared(self: Any, other: Any) -> Any:
        _require_one_class(self, other)
        if isinstance(self, int) and not isinstance(other, Enum) and int(self) == other:
            raise ComparedByIdentity(f"{self!r} is compared with {other!r}, which is no member of its enumeration.")
        return own(self, other)

    return compared


def _refusing(one: Any, other: Any) -> Any:
    if one is other:
        return NotImplemented
    _require_one_class(one, other)
    if type(one) is not type(other):
        return NotImplemented
    raise ComparedByIdentity(f"Two objects of {type(one).__name__} are compared: to Python they are never equal.")


def _require_one_class(one: Any, other: Any) -> None:
    """Raises ComparedByIdentity where two classes' objects hold the same: to compilers up to NKI 0.6 they are equal."""
    if type(one) is not type(other) and _held(one) == _held(other) != {}:
        raise ComparedByIdentity(
            f"Objects of {type(one).__name__} and {type(other).__name__} are compared that hold the same."
        )


def _held(one: Any) -> dict[str, Any]:
    if isinstance(one, Enum):
        return {"name": one.name, "value": one.value}
    return dict(getattr(one, "__dict__", {}))
