"""Texts that tell where they were made: what the text's module is called, which its file decides, and addresses.

Two traces that agree prove nothing about a third in a file of another name.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from nki_anvil.sim.array_dtypes import ArrayDType

_ADDRESS = " at 0x"
_CUT = re.compile(r"%(\([^)]*\))?[-#0 +]*[\d*]*\.[\d*]*[hlL]?[srab]")
"""A precision of a text, in ``%``."""
_DEEPEST = 8
_KNOWN = (str, bytes, bool, int, float, complex, type(None), range, type(...))
LANGUAGE = ("nki.", "neuronxcc.", "nki_anvil.sim.")
"""The emulation calls itself by the first in a process that traces."""
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


class TextAsserted(Exception):
    """An assertion writes a text, by which an object of the kernel's may change itself."""

    code = "TraceUnstable"
    remedy = "Write the text on a line before the assertion, or compare the values themselves."

    def __init__(self) -> None:
        super().__init__("An assertion writes a text by `%`, and is left out where Python runs with `-O`.")


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
    """The value, which is about to be written as text.

    Known are numbers and texts, types, members of enumerations, dtypes, and what is made of these; objects of the
    text's classes where the text or ``dataclass`` says how. Raises ArrayWritten for an array, PlaceTold for all else:
    tensors and registers are numbered, and called otherwise, in a kernel that calls this one.
    """
    if isinstance(value, (np.ndarray, np.generic)) or depth > _DEEPEST:
        raise ArrayWritten
    for part in _written(value):
        shown(part, depth + 1)
    return value


def _written(value: Any) -> Iterable[Any]:
    """What else is written with it."""
    kind = cast("Any", type(value))
    if isinstance(value, enum.Enum):
        return [value.value]
    if isinstance(value, type) and f"{value.__module__}.".startswith(LANGUAGE):
        raise PlaceTold  # a class of the language says whose it is
    if kind in _KNOWN or isinstance(value, (type, np.dtype)) or _is_format(kind):
        return ()
    if kind is dict:
        return [part for pair in cast("dict[Any, Any]", value).items() for part in pair]
    if kind in (list, tuple):
        return cast("list[Any]", value)
    if f"{kind.__module__}.".startswith(LANGUAGE) or not _writes_itself(kind):
        raise PlaceTold
    return [getattr(value, one, None) for one in getattr(kind, "__dataclass_fields__", ())]


def _is_format(kind: Any) -> bool:
    """Whether its objects are texts of the language, as dtypes are; or those of Beta 1, which refuse it themselves."""
    return issubclass(kind, ArrayDType) or (f"{kind.__module__}.".startswith(LANGUAGE) and issubclass(kind, str))


def _writes_itself(kind: Any) -> bool:
    """Whether a class of the text says how its objects are written."""
    first = [next(one for one in kind.__mro__ if method in vars(one)) for method in ("__str__", "__repr__")]
    return all(one in (kind, object) for one in first) and kind in first


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


def remainder_of_numbers(one: Any, other: Any) -> Any:
    """``%`` in an assertion, which ``python -O`` leaves out. Raises TextAsserted where it writes a text."""
    if isinstance(one, (str, bytes)):
        raise TextAsserted
    return one % other


def _holds_numbers(dtype: Any) -> bool:
    """Of the sizes that a chip has, or Python; those of other packages are of NumPy's kind for plain bytes."""
    if dtype.kind == "V":
        return dtype.names is None and dtype.subdtype is None and not issubclass(dtype.type, np.void)
    return dtype.kind in "biuf" and dtype.itemsize <= _WIDEST
