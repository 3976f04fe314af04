"""Trainium's number formats: names, NumPy stand-ins, sizes. Source: the data types of nki.language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import ml_dtypes
import numpy as np

from nki_anvil.sim.array_dtypes import ArrayDType, NamedDType
from nki_anvil.sim.errors import TraceError

_TABLE: Final[dict[str, Any]] = {
    "bool_": np.uint8,  # stored as one byte that is 0 or 1
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "tfloat32": np.float32,  # ten mantissa bits in the tensor engine, four bytes in memory
    "float8_e4m3": ml_dtypes.float8_e4m3,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}
NAMES: Final = tuple(_TABLE)
"""The order is part of the program format: new formats are appended."""

FLOATS: Final = frozenset(name for name in NAMES if "float" in name)
_TEXTS: Final = {"bool_": "bool"}
"""What the stubs call a format, where that is not its name in nki.language."""
_PLAIN: Final = {text: name for name, text in _TEXTS.items()}
INTEGERS: Final = frozenset((*NAMES, *_PLAIN)) - FLOATS


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype that stores a Trainium format; raises KeyError for a name that is not one."""
    return np.dtype(_TABLE[_PLAIN.get(name, name)])


def name_of(dtype: Any) -> str:
    """The Trainium name of a NumPy dtype or of a name; raises KeyError where it has none (float64, int64)."""
    if isinstance(dtype, str) and _PLAIN.get(dtype, dtype) in _TABLE:
        return _PLAIN.get(dtype, dtype)
    wanted = np.dtype(dtype)
    if wanted == np.bool_:
        return "bool_"
    for name, stand_in in _TABLE.items():
        if name not in ("bool_", "tfloat32") and np.dtype(stand_in) == wanted:
            return name
    raise KeyError(f"Trainium has no {wanted.name}")


def size_of(name: str) -> int:
    """Bytes of one element."""
    return numpy_dtype(name).itemsize


class DType(str):
    """A number format as kernels see it: a string, as the stubs have it.

    A format of another chip is a name like any other; only storage of it is refused.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Raises TraceError for a type of NumPy's, which no string equals though it names the same format."""
        if isinstance(other, str):
            return str.__eq__(self, other)
        if isinstance(other, type) and issubclass(other, np.generic):
            raise TraceError(
                "NKI-DTYPE", f"The dtype {self} is a string, and is compared with a type of NumPy's.",
                remedy=f"Compare with nl.{name_of(self)} or another dtype of nl.",
            )  # fmt: skip
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


DTYPES: Final[Mapping[str, DType]] = {dtype: dtype for dtype in (DType(_TEXTS.get(name, name)) for name in NAMES)}
"""One object per format, in the order of NAMES, found by itself (at once) or by any equal string."""

_KINDS: Final[dict[str, Any]] = {**_TABLE, "bool_": np.bool_, "tfloat32": "V4"}
_AS_NUMPY: Final[dict[str, np.dtype[Any]]] = {name: np.dtype(kind) for name, kind in _KINDS.items()}
ARRAY_DTYPES: Final[Mapping[str, ArrayDType]] = {
    as_text: ArrayDType(name, kind) for as_text, (name, kind) in zip(DTYPES, _AS_NUMPY.items(), strict=True)
}
"""Of tensors of Beta 1."""
NAMED_DTYPES: Final[Mapping[str, ArrayDType]] = {name: NamedDType(name, kind) for name, kind in _AS_NUMPY.items()}
"""Of Beta 1's ``nki.language``."""

FOREIGN: Final = ("float8_e4m3fn", "float8_e5m2_x4", "float8_e4m3fn_x4", "float8_e8m0fnu", "float4_e2m1fn_x4")
"""Formats of NKI that NeuronCore-v3 cannot hold."""


def as_dtype(dtype: Any) -> DType:
    """The format that a name, a NumPy dtype or a framework's dtype stands for; raises KeyError where there is none."""
    if isinstance(dtype, ArrayDType):
        return _of_name(dtype.format)
    if isinstance(dtype, DType) and dtype in DTYPES:
        return DTYPES[dtype]
    if isinstance(dtype, str):
        return _of_name(name_of(dtype))
    text = str(dtype)
    return _of_name(name_of(text.removeprefix("torch.") if text.startswith("torch.") else dtype))


def _of_name(name: str) -> DType:
    return DTYPES[_TEXTS.get(name, name)]
