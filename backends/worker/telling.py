"""Texts that tell where they were made: what the text's module is called, which its file decides, and addresses.

Two traces that agree prove nothing about a third in a file of another name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

_ADDRESS = " at 0x"


class PlaceTold(Exception):
    """A text is made of what an object calls itself, which is another text wherever the kernel is imported."""

    code = "TraceUnstable"
    remedy = "Name things by texts of your own, or give their class a `__repr__`."

    def __init__(self, how: str = "asks what a class or an object calls itself") -> None:
        super().__init__(f"The kernel {how}: its module and address are told.")


class _Guarded(type):
    """The class of what stands for ``str``."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        return cls.told(str(*given, **named))

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, str)

    def __eq__(cls, other: object) -> bool:
        return other is str or other is cls

    def __hash__(cls) -> int:
        return hash(str)

    def __repr__(cls) -> str:
        return repr(str)

    told: Callable[[Any], Any]


class _Function:
    """A function whose texts are looked through; no function of Python's own, which would be a method in a class."""

    def __init__(self, function: Callable[..., Any], told: Callable[[Any], Any]) -> None:
        self._function, self._told = function, told

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._told(self._function(*given, **named))

    def __repr__(self) -> str:
        return repr(self._function)


def watching(name: str) -> Callable[[Any], Any]:
    """What looks through a value and returns it; raises PlaceTold for texts that hold a module's name or an address."""

    def told(value: Any) -> Any:
        if isinstance(value, str):
            if name in value or _ADDRESS in value:
                raise PlaceTold
        elif isinstance(value, bytes):
            if name.encode() in value or _ADDRESS.encode() in value:
                raise PlaceTold
        elif isinstance(value, (list, tuple)):
            for one in cast("list[Any]", value):
                told(one) if isinstance(one, (str, bytes, tuple)) else None
        elif isinstance(value, np.ndarray) and _holds_texts(cast("Any", value).dtype):
            raise PlaceTold("puts objects or texts into an array, which makes texts of whatever it is given")
        return cast("Any", value)

    return told


def _holds_texts(dtype: Any) -> bool:
    """Also in one of its fields, or as objects."""
    return dtype.kind in "USO" or dtype.names is not None


def guard(namespace: dict[str, Any], told: Callable[[Any], Any]) -> None:
    """Give a text what makes texts where no call of its own shows it, as where it is handed to ``map``."""
    namespace["str"] = _Guarded("str", (str,), {"told": staticmethod(told)})
    namespace["repr"] = _Function(repr, told)
