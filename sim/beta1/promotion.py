"""The dtype of a result whose operands differ, as Beta 1's page on type promotion has it (SDK 2.26)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, cast

import numpy as np

from nki_anvil.sim.dtypes import INTEGERS, DType, as_dtype, numpy_dtype


class _Float(NamedTuple):
    exponent: int
    mantissa: int


_FLOATS: Final = {
    "float8_e4m3": _Float(4, 3),
    "float8_e5m2": _Float(5, 2),
    "bfloat16": _Float(8, 7),
    "float16": _Float(5, 10),
    "tfloat32": _Float(8, 10),
    "float32": _Float(8, 23),
}
"""From the narrowest on. What widens becomes no tfloat32 that was not there: bfloat16 beside float16 is float32."""
_INTEGERS: Final = ("uint8", "int8", "uint16", "int16", "uint32", "int32")
_WIDEST: Final = "float32"


def promoted(operands: Iterable[Any]) -> DType:
    """The result's dtype; numbers without one of their own weigh as the widest of their kind."""
    names = [_format(value) for value in operands]
    floats = [name for name in names if name not in INTEGERS]
    return as_dtype(_wider_float(floats) if floats else _wider_integer(names))


def _format(value: Any) -> str:
    if not hasattr(value, "dtype"):
        return "float32" if isinstance(value, float) else "uint8" if isinstance(value, bool) else "int32"
    if not isinstance(value, np.generic):
        return as_dtype(value.dtype)
    kept = cast("Any", value).dtype
    return str(as_dtype({"float64": np.float32, "int64": np.int32, "bool": np.uint8}.get(kept.name, kept)))


def _wider_float(names: list[str]) -> str:
    exponent, mantissa = (max(_FLOATS[name][part] for name in names) for part in range(2))
    return next(
        name
        for name, bits in _FLOATS.items()
        if bits.exponent >= exponent and bits.mantissa >= mantissa and (name != "tfloat32" or name in names)
    )


def _wider_integer(names: list[str]) -> str:
    if len(set(names)) == 1:
        return names[0]
    limits = [np.iinfo(numpy_dtype(name)) for name in names]
    low, high = min(int(one.min) for one in limits), max(int(one.max) for one in limits)
    for name in _INTEGERS:
        found = np.iinfo(numpy_dtype(name))
        if found.min <= low and high <= found.max:
            return name
    return _WIDEST
