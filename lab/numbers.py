"""``numpy`` as a reference's module sees it: buffers that it makes hold arrays of the arithmetic in force."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import in_force, is_array, is_computing, is_float
from nki_anvil.lab.open_sorts import argpartition, argsort
from nki_anvil.lab.spoken_formats import all_as_stored, coarse
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


_HOLDING: Final = {"array": 1, "asarray": 1, "asanyarray": 1, "ascontiguousarray": 1, "full": 2, "full_like": 2}
"""Of those, which are given numbers that were computed, and where they may be told a dtype: it is the arithmetic's."""


def _maker(make: Any) -> Callable[..., Any]:
    place = _HOLDING.get(make.__name__)

    def made(*args: Any, **options: Any) -> Any:
        if not is_computing():
            return make(*args, **options)
        asked = options.get("dtype") if place is None or len(args) <= place else args[place]
        if place is not None and asked is not None and is_float(asked) and _computed(args):
            args, options = args[:place], {**options, "dtype": in_force().dtype}
        array = make(*all_as_stored(args), **options)
        if not is_array(array) or not is_float(array.dtype):
            return array
        narrow = coarse(array.dtype if place is None or asked is None else asked)
        kept = array if isinstance(array, Value) else array.astype(in_force().dtype).view(Value)
        return kept.astype(narrow) if narrow is not None else kept

    return made


_MADE: Final = {id(getattr(np, name)): name for name in (*_MAKERS, *_OPEN, "ndarray")}


def bend(names: dict[str, Any]) -> None:
    """What a module calls NumPy, or one of its functions that make buffers, becomes what it is here.

    Outside of an arithmetic they are NumPy's own, for a reference's helpers are imported once.
    """
    bent = Numbers()
    names.update({name: bent for name, item in names.items() if item is np})
    names.update({name: getattr(bent, _MADE[id(item)]) for name, item in names.items() if id(item) in _MADE})


def _computed(item: Any) -> bool:
    """Whether it holds what the arithmetic in force has made, and not only constants, which are as they are written."""
    if isinstance(item, (list, tuple)):
        return any(map(_computed, item))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(item, Value) or type(item) is np.dtype(in_force().dtype).type


class _AnyArray(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, np.ndarray)


class _Buffer(metaclass=_AnyArray):
    """``np.ndarray`` for the reference module: a check of any array, a maker of ``Value`` arrays."""

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return _maker(np.ndarray)(*args, **options)
