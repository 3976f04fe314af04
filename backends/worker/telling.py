"""Texts that tell where they were made: what the text's module is called, which its file decides, and addresses.

Two traces that agree prove nothing about a third in a file of another name.
"""

from __future__ import annotations

import dataclasses
import enum
import re
import types
from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker.unordered import through

_ADDRESS = " at 0x"
_CUT = re.compile(r"%(\([^)]*\))?[-#0 +]*[\d*]*\.[\d*]*[hlL]?[srab]")
"""A precision of a text, in ``%``."""
_DEEPEST = 8
_PYTHONS = ("builtins", "functools", "collections", "itertools", "operator", "contextlib")
_KNOWN = (str, bytes, int, float, complex, type(None), type, range, type(...), types.FunctionType, type(len))
_WIDEST = 8
"""Bytes of a number; of wider ones some are never written."""


class PlaceTold(Exception):
    """A text is made of what an object calls itself, which is another text wherever the kernel is imported."""

    code = "TraceUnstable"
    remedy = "Name things by texts of your own, or give their class a `__repr__`."

    def __init__(self, how: str = "asks what a class or an object calls itself") -> None:
        super().__init__(f"The kernel {how}: its module and address are told.")


class ArrayWritten(Exception):
    """An array's elements are written as text."""

    code = "TraceUnstable"
    remedy = "Write the numbers themselves, by `int(...)` or `float(...)`."

    def __init__(self) -> None:
        super().__init__("The kernel writes an array as text, and how arrays look a user's program decides.")


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
                told(one) if isinstance(one, (str, bytes, tuple, np.ndarray)) else None
        else:
            check_numbers(value)
        return cast("Any", value)

    return told


def shown(value: Any, depth: int = 0) -> Any:
    """The value, which is about to be written as text. Raises ArrayWritten for what may be or hold an array.

    Known are numbers and texts, types, objects of the text's and the language's classes, and what is made of these.
    """
    through(value)
    for part in _written(value) if depth < _DEEPEST else [np.zeros(())]:
        shown(part, depth + 1)
    return value


def _written(value: Any) -> Iterable[Any]:
    """What else is written with it."""
    if isinstance(value, dict):
        return [part for pair in cast("dict[Any, Any]", value).items() for part in pair]
    if isinstance(value, (list, tuple, set, frozenset)):
        return cast("list[Any]", value)
    if isinstance(value, (np.ndarray, np.generic)):
        raise ArrayWritten
    if type(value).__module__ in _PYTHONS and not isinstance(value, _KNOWN) and type(value) is not object:
        raise ArrayWritten
    if isinstance(value, enum.Enum):
        return [value.value]
    if isinstance(value, BaseException):
        return value.args
    if any(_writes(kind) for kind in cast("Any", type(value)).__mro__[1:]) and not isinstance(value, _KNOWN):
        raise ArrayWritten
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, one.name, None) for one in dataclasses.fields(value)]
    return ()


def _writes(kind: Any) -> bool:
    """Whether a class of the language, from which the text has derived one, writes what its objects hold."""
    return kind.__module__.partition(".")[0] in ("nki", "nki_anvil") and not {"__repr__", "__str__"}.isdisjoint(
        cast("dict[str, Any]", vars(kind))
    )


def check_numbers(value: Any) -> None:
    """Raises PlaceTold for an array of other things than numbers."""
    if isinstance(value, (np.ndarray, np.generic)) and not _holds_numbers(cast("Any", value).dtype):
        raise PlaceTold("makes an array of other things than numbers: of texts, objects, times, or bytes between")


def remainder(one: Any, other: Any) -> Any:
    """``%``. Raises PlaceTold where it cuts what is told short."""
    if isinstance(one, (str, bytes)):
        shown(other)
    if isinstance(one, (str, bytes)) and _CUT.search(one if isinstance(one, str) else one.decode("latin-1")):
        raise PlaceTold("cuts a text short by its format")
    return one % other


def _holds_numbers(dtype: Any) -> bool:
    """Of the sizes that a chip has, or Python; those of other packages are of NumPy's kind for plain bytes."""
    if dtype.kind == "V":
        return dtype.names is None and dtype.subdtype is None and not issubclass(dtype.type, np.void)
    return dtype.kind in "biuf" and dtype.itemsize <= _WIDEST
