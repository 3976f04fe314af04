"""``numpy`` as a reference's module sees it: buffers that it makes hold arrays of the arithmetic in force."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import complex_of, in_force, is_array, is_computing, is_float
from nki_anvil.lab.constant_numbers import own
from nki_anvil.lab.mathematics import NOISY, mathematics
from nki_anvil.lab.open_sorts import argpartition, argsort
from nki_anvil.lab.spoken_formats import all_as_stored, coarse
from nki_anvil.lab.values import Value, kept_in_force

_OPEN: Final[dict[str, Callable[..., Any]]] = {"argsort": argsort, "argpartition": argpartition}
"""What a reference may ask of arrays of integers, too."""


class Numbers(types.ModuleType):
    """``numpy`` as the reference module sees it: buffers that it makes hold ``Value`` arrays of the dtype in force."""

    def __init__(self) -> None:
        super().__init__("numpy")

    def __getattr__(self, name: str) -> Any:
        if name == "ndarray":
            return _Buffer
        if name == "vectorize":
            return _Vectorized
        if name in _OPEN:
            return _OPEN[name]
        found = getattr(np, name)
        return _maker(found) if name in _MAKERS else found


_MAKERS: Final = frozenset({
    "zeros", "ones", "empty", "full", "array", "asarray", "ascontiguousarray", "asanyarray", "arange",
    "linspace", "fromiter", "eye", "identity", "tri", "zeros_like", "ones_like", "empty_like", "full_like",
})  # fmt: skip


_HOLDING: Final = {
    "array": 1, "asarray": 1, "asanyarray": 1, "ascontiguousarray": 1, "fromiter": 1, "full": 2, "full_like": 2,
}  # fmt: skip
"""Of those, which are given numbers that were computed, and where they may be told a dtype: it is the arithmetic's."""
_NUMBERED: Final = frozenset({*_HOLDING, "arange", "linspace"})
"""Of those, what holds numbers of the reference's own."""


def _maker(make: Any) -> Callable[..., Any]:
    place = _HOLDING.get(make.__name__)

    def made(*args: Any, **options: Any) -> Any:
        if not is_computing():
            return make(*args, **options)
        asked = options.get("dtype") if place is None or len(args) <= place else args[place]
        computed = make is np.fromiter or _computed(args, Value, np.dtype(in_force().dtype).type)
        if place is not None and asked is not None and is_float(asked) and (computed or _computed(args, float)):
            args, options = args[:place], {**options, "dtype": in_force().dtype}
        array = make(*all_as_stored(args), **options)
        return _held(array, None if place is None else asked, make.__name__ in _NUMBERED and not computed)

    return made


def _held(array: Any, asked: Any, numbered: bool) -> Any:
    """What was made as the arithmetic in force holds it; numbers of the reference's own may be others there."""
    if isinstance(array, Value):
        return array.astype(asked) if coarse(asked) is not None else array
    if is_array(array) and array.dtype.kind == "c":
        return array.astype(complex_of(in_force().dtype)).view(Value)
    if not is_array(array) or not is_float(array.dtype):
        return array
    numbers = own(array, in_force()) if numbered else array
    kept: Value = numbers.astype(in_force().dtype).view(Value)
    return kept.known_as(array.dtype if asked is None else asked)


class _Vectorized(np.vectorize):  # pyright: ignore[reportIncompatibleVariableOverride]
    """``np.vectorize`` whose floats, of whatever format, are the arithmetic's."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        said: Any = self.otypes
        kinds = [kind if isinstance(kind, str) else np.dtype(kind.type).char for kind in said or ()]
        self.otypes = "".join("d" if kind in "ef" else kind for kind in kinds) or said
        self.pyfunc: Any = NOISY.get(self.pyfunc, self.pyfunc)
        how = in_force()
        outer, how.elementwise = how.elementwise, True
        try:
            return kept_in_force(super().__call__(*args, **options))
        finally:
            self.otypes, how.elementwise = said, outer


_BUILT_IN: Final = (type(math.exp),)
"""Of whatever else a module names, who knows what it makes of being compared."""
_MADE: Final = {id(getattr(np, name)): name for name in (*_MAKERS, *_OPEN, "ndarray", "vectorize")}


def bend(names: dict[str, Any]) -> None:
    """What a module calls NumPy, ``math``, or one of the functions that are bent, becomes what it is here.

    Outside of an arithmetic they are the modules' own, for a reference's helpers are imported once.
    """
    bent, functions = Numbers(), mathematics()
    names.update({name: bent for name, item in names.items() if item is np})
    names.update({name: functions for name, item in names.items() if item is math})
    names.update({name: NOISY[item] for name, item in names.items() if type(item) in _BUILT_IN and item in NOISY})
    for item in names.values():
        if type(item) is np.vectorize:
            item.__class__ = _Vectorized
    names.update({name: getattr(bent, _MADE[id(item)]) for name, item in names.items() if id(item) in _MADE})


def _computed(item: Any, *kinds: Any) -> bool:
    """Whether it holds what the arithmetic in force has made, or numbers of Python's, of which nobody knows who did.

    Other constants are as they are written.
    """
    if isinstance(item, (list, tuple)):
        return any(_computed(one, *kinds) for one in item)  # pyright: ignore[reportUnknownVariableType]
    return type(item) in kinds


class _AnyArray(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, np.ndarray)


class _Buffer(metaclass=_AnyArray):
    """``np.ndarray`` for the reference module: a check of any array, a maker of ``Value`` arrays."""

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return _maker(np.ndarray)(*args, **options)
