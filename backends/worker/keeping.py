"""What a text's names hold, so that a call which leaves something behind for the next one is seen.

Lists, dictionaries, arrays, objects, classes, iterators, and functions with their defaults and closures are looked
through. Of a cache only what could be changed counts: that it has answered once is its purpose.
"""

from __future__ import annotations

import functools
import gc
import itertools
import types
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, cast

import numpy as np

Description = tuple[Any, ...]

_VALUES: Final = frozenset({bool, int, float, complex, str, bytes, range, type(None), type(...)})
_PLAIN: Final = (int, float, complex, str, bytes)
_FIXED: Final = (types.ModuleType, types.GetSetDescriptorType, types.MemberDescriptorType, types.CodeType)
_OTHERS: Final = frozenset({"nki", "nki_anvil", "neuronxcc", "numpy", "ml_dtypes", "types", "typing"})
"""Modules whose objects hold nothing that a text can change, unless they wrap something of it."""
_PYTHONS: Final = frozenset({"_value2member_map_", "_abc_impl", "__weakref__", "__dict__"})
"""Tables of classes that Python fills when it is asked."""
_CACHE: Final = type(functools.lru_cache(lambda: None))
_UNLIKE: Final = itertools.count()
_LINK: Final = "_lru_list_elem"
"""What a bounded cache keeps its answers in, which it tells as well."""


class Held:
    """What the names of a module hold now; two of them tell by ``changed`` what happened between.

    ``unseen`` is true where something may remember what cannot be compared.
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._own = namespace.get("__name__")
        self._seen: dict[int, tuple[int, Any]] = {}
        self.unseen = False
        self._described: dict[str, Description] = {}
        for name, value in namespace.items():
            if name != "__builtins__" and not name.startswith("."):
                self._seen.clear()
                self._described[name] = self._describe(value)

    def changed(self, before: Held) -> list[str]:
        """Names that hold something else than before."""
        old, new = before._described, self._described
        return [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]

    def _describe(self, value: Any) -> Description:
        kind = cast("Any", type(value))
        if kind in _VALUES:
            return (kind, repr(value))
        if isinstance(value, _FIXED) or self._is_of_others(value):
            return (id(value),)
        if id(value) in self._seen:
            return ("again", self._seen[id(value)][0])
        self._seen[id(value)] = len(self._seen), value
        return (kind, *map(self._describe, self._parts(value)))

    def _is_of_others(self, value: Any) -> bool:
        if isinstance(value, (types.FunctionType, type)):
            return value.__module__ != self._own
        if isinstance(value, types.BuiltinFunctionType):
            return value.__self__ is None or isinstance(value.__self__, types.ModuleType)
        if isinstance(value, np.void) or hasattr(value, "__next__"):
            return False
        return type(value).__module__.partition(".")[0] in _OTHERS and not _wraps(value)

    def _parts(self, value: Any) -> Iterable[Any]:
        if isinstance(value, types.FunctionType):
            return _of_function(value)
        if isinstance(value, type):
            return _named(vars(value))
        if isinstance(value, _CACHE):
            self.unseen = True
            return (value.__wrapped__, *filter(self._is_changeable, _cached(value)))
        if _wraps(value):
            return _wraps(value)
        plain = [cast("Any", kind).__repr__(value) for kind in _PLAIN if isinstance(value, kind)]
        attributes = _named(getattr(value, "__dict__", {}))
        return chain(plain, self._progress(value), _keys(value), attributes, gc.get_referents(value))

    def _is_changeable(self, value: Any) -> bool:
        if isinstance(value, tuple):
            return any(map(self._is_changeable, cast("Iterable[Any]", value)))
        return not (type(value) in _VALUES or isinstance(value, _FIXED) or self._is_of_others(value))

    def _progress(self, value: Any) -> Iterable[Any]:
        """How far an iterator has come; what does not tell may have gone on."""
        if isinstance(value, types.GeneratorType):
            return (value.gi_frame.f_lasti, value.gi_frame.f_locals) if value.gi_frame else ()
        if type(value).__module__ != self._own and hasattr(value, "__next__"):
            try:
                return value.__reduce__()
            except TypeError:
                return (next(_UNLIKE),)
        return ()


def _wraps(value: Any) -> tuple[Any, ...]:
    """What stands behind one of others' objects: a kernel's function, an array's elements."""
    if isinstance(inner := getattr(value, "__wrapped__", None), types.FunctionType):
        return (inner,)
    return (cast("Any", value).tolist(),) if isinstance(value, (np.ndarray, np.void)) else ()


def _named(attributes: Mapping[str, Any]) -> Iterator[Any]:
    return (part for name, one in attributes.items() if name not in _PYTHONS for part in (name, one))


def _keys(value: Any) -> Iterable[Any]:
    """Texts as keys are not told by the garbage collector."""
    return list(dict[Any, Any].keys(cast("dict[Any, Any]", value))) if isinstance(value, dict) else ()


def _cached(cache: Any) -> Iterator[Any]:
    for part in gc.get_referents(cache):
        if isinstance(part, dict):
            yield from (one for one in cast("dict[Any, Any]", part).values() if type(one).__name__ != _LINK)
        elif part is not cache.__wrapped__:
            yield part


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    yield function.__code__
    yield from function.__defaults__ or ()
    yield from _named(function.__kwdefaults__ or {})
    yield from (part for cell in function.__closure__ or () for part in gc.get_referents(cell))
    yield from _named(vars(function))
