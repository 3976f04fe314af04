"""``numpy`` as a reference's module sees it: buffers that it makes hold arrays of the arithmetic in force."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import in_force, is_array, is_float
from nki_anvil.lab.open_sorts import argpartition, argsort
from nki_anvil.lab.values import Value

_OPEN: Final[dict[str, Callable[..., Any]]] = {"argsort": argsort, "argpartition": argpartition}
"""What a reference may ask of arrays of integers, too."""


class Numbers(types.ModuleType):
    """``numpy`` as the reference module sees it: buffers that it makes hold ``Value`` arrays of the dtype in force."""

    def __init__(self) -> None:
        super().__init__("numpy")

    def __getattr__(self, name: str) -> Any:
        if name == "ndarray":
            return _Buffer
        if name in _OPEN:
            return _OPEN[name]
        found = getattr(np, name)
        return _maker(found) if name in _MAKERS else found


_MAKERS: Final = frozenset({
    "zeros", "ones", "empty", "full", "array", "asarray", "ascontiguousarray", "asanyarray", "arange",
    "linspace", "eye", "identity", "tri", "zeros_like", "ones_like", "empty_like", "full_like",
})  # fmt: skip


def _maker(make: Any) -> Callable[..., Any]:
    def made(*args: Any, **options: Any) -> Any:
        array = make(*args, **options)
        if is_array(array) and is_float(array.dtype):
            return array if isinstance(array, Value) else array.astype(in_force().dtype).view(Value)
        return array

    return made


class _AnyArray(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, np.ndarray)


class _Buffer(metaclass=_AnyArray):
    """``np.ndarray`` for the reference module: a check of any array, a maker of ``Value`` arrays."""

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return _maker(np.ndarray)(*args, **options)
