"""Formats that a reference speaks of: the dtype that its author sees, casts to fewer bits than the problem declares.

Arrays are of the arithmetic's format, whatever is written there; what an author means by a format is the problem's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final, cast

import ml_dtypes
import numpy as np

from nki_anvil.lab.arithmetic import Array, complex_of, in_force, is_float
from nki_anvil.lab.formats import UNIT_ROUNDOFF

_LIBRARIES: Final = frozenset({"nki_anvil", "numpy", "ml_dtypes", "scipy"})
"""Whose code has to know in which format an array is; everybody else is a reference."""


def told(dtype: Any, depth: int, spoken: Any) -> Any:
    """What whoever asks for an array's dtype, so many frames above, is told: an author has float32, or what is narrow.

    ``np.finfo(x.dtype).eps`` and ``x.dtype == np.float32`` are to be the same in every arithmetic.
    """
    asks = str(sys._getframe(depth + 1).f_globals.get("__name__", ""))  # pyright: ignore[reportPrivateUsage]
    if dtype.kind not in "fc" or asks.partition(".")[0] in _LIBRARIES:
        return dtype
    return spoken or np.dtype(np.float32 if dtype.kind == "f" else np.complex64)


def narrow(dtype: Any) -> Any:
    """The format, where it has fewer bits than float32."""
    return np.dtype(dtype) if is_float(dtype) and np.dtype(dtype).itemsize < np.dtype(np.float32).itemsize else None


def common(operands: Sequence[Any]) -> Any:
    """The coarse format of all operands, which is what NumPy makes of them: numbers of Python's have none."""
    formats = {_coarse_of(one) for one in operands if type(one) not in (bool, int, float)}
    return formats.pop() if len(formats) == 1 else None


def _coarse_of(one: Any) -> Any:
    return one.coarse if hasattr(one, "coarse") else coarse(getattr(one, "dtype", None))


def arrays_of(arguments: Sequence[Any]) -> list[Any]:
    """The floats of a function's arguments, lists of arrays among them."""
    lists: list[Any] = [item if isinstance(item, (list, tuple)) else (item,) for item in arguments]
    return [one for items in lists for one in items if is_float(getattr(one, "dtype", np.intp))]


def rounded_to(number: Any, dtype: Any) -> Any:
    """A number of Python's as an array of such a format takes it."""
    return float(np.asarray(number).astype(dtype)) if type(number) is float else number


def coarse(dtype: Any) -> Any:
    """The format, where it has fewer bits than the problem declares: who casts to it there means a rounding."""
    if dtype is None or not is_float(dtype):
        return None
    finest, known = UNIT_ROUNDOFF[in_force().precision], cast("Any", ml_dtypes.finfo(dtype))
    return np.dtype(dtype) if float(known.eps) / 2 > finest else None


def as_stored(array: Any) -> Any:
    """What whoever uses an array sees of it: numbers that were cast to a coarse format are rounded to it.

    Only then, for those that are returned are compared with their format as outputs are.
    """
    if (dtype := getattr(array, "coarse", None)) is None:
        return array
    how = in_force()
    how.decides = how.rounds = True
    with np.errstate(over="ignore", invalid="ignore"):
        rounded: Array = np.asarray(array).astype(dtype).astype(how.dtype)
    return _like(array, rounded)


def bits(array: Any, dtype: Any) -> Any:
    """The bits of float32 numbers as integers, or the numbers of which integers are the bits.

    Raises TypeError where there are not as many of either: in which format they were is not known here.
    """
    how, asked = in_force(), np.dtype(dtype)
    if asked.itemsize != 4:
        raise TypeError(f"view({asked.name}): only bits of float32 are read, by an integer of as many.")
    how.decides = how.rounds = True
    plain: Array = np.asarray(as_stored(array))
    if asked.kind == "f":
        return _like(array, plain.view(np.float32).astype(how.dtype))
    return _like(array, plain.astype(np.float32).view(asked))


def seen_as(array: Any, dtype: Any) -> Any:
    """The same memory as numbers of another kind: pairs as complex numbers and back, whole numbers of another width.

    Raises TypeError where floats are to be seen as floats of another width.
    """
    plain: Array = np.asarray(as_stored(array))
    asked = np.dtype(dtype)
    if plain.dtype.kind in "fc" and asked.kind in "fc":
        if asked.itemsize != (4 if asked.kind == "f" else 8):
            raise TypeError(f"view({asked.name}): only float32 and complex64 are seen as each other.")
        asked = np.dtype(in_force().dtype if asked.kind == "f" else complex_of(in_force().dtype))
    return _like(array, plain.view(asked))


def _like(array: Any, plain: Array) -> Any:
    return plain.view(cast("Any", type(array)))


def all_as_stored(items: Any) -> Any:
    """The same for what a function is given, lists of arrays among it."""
    if isinstance(items, (list, tuple)):
        seen = map(all_as_stored, items)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return [*seen] if isinstance(items, list) else (*seen,)
    if isinstance(items, dict):
        return {key: all_as_stored(item) for key, item in items.items()}  # pyright: ignore[reportUnknownVariableType]
    return as_stored(items)
