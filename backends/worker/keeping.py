"""What a text's names hold, so that a call which leaves something behind for the next one is seen.

Lists, dictionaries, arrays, objects, classes, iterators, and functions with their defaults and closures are looked
through. Of a cache only what could be changed counts: that it has answered once is its purpose.
"""

from __future__ import annotations

import functools
import gc
import itertools
import struct
import sys
import types
import typing
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, cast

import numpy as np

Description = tuple[Any, ...]

_VALUES: Final = frozenset({bool, int, float, complex, str, bytes, range, type(None), type(...)})
_PLAIN: Final[Mapping[type, Callable[[Any], Any]]] = {
    int: int.__int__,
    float: float.__float__,
    complex: complex.__pos__,
    str: str.__repr__,
    bytes: bytes.__repr__,
}
"""What a value of a class of its own is as one of these."""
_CONTAINERS: Final = (dict, list, tuple, set, frozenset)
_FIXED: Final = (types.ModuleType, types.GetSetDescriptorType, types.MemberDescriptorType, types.CodeType)
_OTHERS: Final = frozenset({"nki", "nki_anvil", "neuronxcc", "numpy", "ml_dtypes", "types", "typing"})
"""Modules whose objects hold nothing that a text can change, unless they were made for it or wrap something of it."""
_PYTHONS: Final = frozenset({"_abc_impl", "__weakref__", "__dict__"})
_DESCRIPTORS: Final = ("getset_descriptor", "_abc_data", "method_descriptor")
_ASKED: Final = frozenset({"_value2member_map_"})
"""Tables of classes that Python fills when it is asked; of enumerations one that later Pythons tell of."""
_PYTHONS_GLOBALS: Final = frozenset({"__builtins__", "__warningregistry__"})
_CACHE: Final = type(functools.lru_cache(lambda: None))
_UNLIKE: Final = itertools.count()
_LINK: Final = "_lru_list_elem"
"""What a bounded cache keeps its answers in, which it tells as well."""


def begin() -> None:
    """What there is now, a text has not made: from here on Python's collector tells only of newer objects."""
    gc.freeze()


class Held:
    """What the names of a module hold now; two of them tell by ``changed`` what happened between.

    Names ``apart`` from the kernel are not looked at. With ``caches``, what they have been asked counts as well, and so
    do all objects of the text's own classes, wherever they are held. ``unseen`` is true where something may remember
    what cannot be compared.
    """

    def __init__(self, namespace: Mapping[str, Any], *, apart: Collection[str] = (), caches: bool = False) -> None:
        self._own = namespace.get("__name__")
        self._caches = caches
        if caches:
            gc.collect()
        self._made = gc.get_objects()  # kept, for no other object to have one's id
        self._ids = frozenset(map(id, self._made))
        self._seen: dict[int, tuple[str, Any]] = {}
        """Also by another name: which of several lists that look alike is held tells as much as what is in one."""
        self._told: list[Any] = []
        """What is told by where it is lives on, for nothing else to be there."""
        self._named_last, self._noted = "", 0
        self.unseen = False
        self._described: dict[str, Description] = {}
        for name, value in namespace.items():
            if name not in _PYTHONS_GLOBALS and name not in apart and not name.startswith("."):
                self._note(name, value)
        for value in filter(self._is_own, self._made) if caches else ():
            self._note(f"{type(value).__name__} {id(value)}", value)
        if caches:
            self._note("typing", _forgotten())

    def _note(self, name: str, value: Any) -> None:
        self._named_last, self._noted = name, 0
        self._described[name] = self._describe(value)

    def _is_own(self, value: Any) -> bool:
        kind = cast("Any", type(value))
        return kind.__module__ == self._own or (isinstance(value, type) and value.__module__ == self._own)

    def changed(self, before: Held) -> list[str]:
        """Names that hold something else than before, and classes of objects that are new or do."""
        old, new = before._described, self._described
        names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
        return [*dict.fromkeys(name.partition(" ")[0] for name in names)]

    def _describe(self, value: Any) -> Description:
        kind = cast("Any", type(value))
        if kind in _VALUES:
            return (kind, _exactly(value))
        if isinstance(value, bytearray):  # which the collector does not know
            return (kind, bytes(value))
        if kind.__module__.startswith("numpy") and hasattr(value, "metadata"):
            named: Mapping[str, Any] = value.metadata or {}
            self._told.append(value)
            return (id(value), *map(self._describe, named.items()))
        if isinstance(value, np.generic) and not isinstance(value, np.void):
            which = id(cast("Any", value)) if value != value else 0  # what is no number is equal to itself alone
            return (kind, value.tobytes(), str(cast("Any", value).dtype), which)
        if isinstance(value, _FIXED) or self._is_of_others(value):
            self._told.append(value)
            return (id(value),)
        if id(value) in self._seen:
            return ("again", self._seen[id(value)][0])
        self._noted += 1
        self._seen[id(value)] = f"{self._named_last} {self._noted}", value
        return (kind, self._which(value), *map(self._describe, self._parts(value)))

    def _which(self, value: Any) -> int:
        """Tells an object from others like it, which a list may be asked for; not one that looking has made."""
        if isinstance(value, _CONTAINERS) or (hasattr(value, "__next__") and id(value) not in self._ids):
            return 0
        return id(cast("object", value))

    def _is_of_others(self, value: Any) -> bool:
        if isinstance(value, types.FunctionType):
            return value.__globals__.get("__name__") != self._own
        if isinstance(value, type):
            return id(value) not in self._ids or (value.__module__ != self._own and _is_found(value))
        if isinstance(value, types.BuiltinFunctionType):
            return value.__self__ is None or isinstance(value.__self__, types.ModuleType)
        if isinstance(value, np.void) or hasattr(value, "__next__"):
            return False
        if type(value).__module__.partition(".")[0] not in _OTHERS or _wraps(value):
            return False
        return id(value) not in self._ids

    def _parts(self, value: Any) -> Iterable[Any]:
        if isinstance(value, types.FunctionType):
            return self._of_function(value)
        if isinstance(value, type):
            return self._named(vars(value))
        if isinstance(value, _CACHE):
            self.unseen = True
            return (value.__wrapped__, *filter(self._is_changeable, _cached(value)), *self._asked(value))
        if _wraps(value):
            return _wraps(value)
        plain = [_exactly(plainly(value)) for kind, plainly in _PLAIN.items() if isinstance(value, kind)]
        attributes = self._named(getattr(value, "__dict__", {}))
        return chain(plain, self._progress(value), _keys(value), attributes, _slots(value), gc.get_referents(value))

    def _asked(self, cache: Any) -> list[Any]:
        """What a cache has been asked, where that counts; of a bounded one also what was asked for longest ago."""
        parts = gc.get_referents(cache) if self._caches else []
        by_age = [one for one in parts if not isinstance(one, (dict, type, types.FunctionType))]
        return [*by_age, *(key for part in parts for key in _keys(part))]

    def _is_changeable(self, value: Any) -> bool:
        if isinstance(value, tuple):
            return any(map(self._is_changeable, cast("Iterable[Any]", value)))
        return not (type(value) in _VALUES or isinstance(value, _FIXED) or self._is_of_others(value))

    def _of_function(self, function: types.FunctionType) -> Iterator[Any]:
        yield function.__code__
        yield from function.__defaults__ or ()
        yield from self._named(function.__kwdefaults__ or {})
        yield from (part for cell in function.__closure__ or () for part in gc.get_referents(cell))
        yield from self._named(vars(function))

    def _named(self, attributes: Mapping[str, Any]) -> Iterator[Any]:
        left_out = _PYTHONS if self._caches else _PYTHONS | _ASKED
        return (
            part
            for name, one in attributes.items()
            if not (name in left_out and (name in _ASKED or type(one).__name__ in _DESCRIPTORS))
            for part in (name, one)
        )

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


def _is_found(kind: type) -> bool:
    """Whether a class is in the module that it says it is of."""
    inner = "." in kind.__qualname__
    return inner or getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind


def _forgotten() -> int:
    """How often typing has made a form that it had not kept, and so forgotten another: a text can count by that."""
    caches = [getattr(clear, "__self__", None) for clear in getattr(typing, "_cleanups", ())]
    return sum(cache.cache_info().misses for cache in caches if isinstance(cache, _CACHE))


def _wraps(value: Any) -> tuple[Any, ...]:
    """What stands behind one of others' objects: a kernel's function, an array's elements."""
    if isinstance(inner := getattr(value, "__wrapped__", None), types.FunctionType):
        return (inner,)
    return _of_array(value) if isinstance(value, (np.ndarray, np.void)) else ()


def _of_array(value: Any) -> tuple[Any, ...]:
    """Its elements bit by bit and how they lie, down to the array whose memory it is."""
    layout = (value.dtype.str, value.dtype, value.shape, value.strides, str(value.flags))
    elements = value.tolist() if value.dtype.hasobject else value.tobytes()
    return (*layout, elements, getattr(value, "base", None))


def _exactly(value: Any) -> Any:
    """A plain value by its bits; one that is no number is equal to itself alone, so that it counts which one it is."""
    if isinstance(value, (float, complex)):
        bits = struct.pack("dd", complex(value).real, complex(value).imag)
        return bits if value == value else (bits, id(value))
    if isinstance(value, range):  # two that give the same numbers are equal
        return (value.start, value.stop, value.step)
    return value


def _slots(value: Any) -> Iterator[Any]:
    """Which are full."""
    for kind in cast("Any", type(value)).__mro__:
        own: Mapping[str, Any] = cast("Any", vars(kind))
        yield from (n for n, one in own.items() if isinstance(one, types.MemberDescriptorType) and hasattr(value, n))


def _keys(value: Any) -> Iterable[Any]:
    """Texts as keys are not told by the garbage collector."""
    if isinstance(value, OrderedDict):
        return list(OrderedDict[Any, Any].keys(cast("OrderedDict[Any, Any]", value)))
    return list(dict[Any, Any].keys(cast("dict[Any, Any]", value))) if isinstance(value, dict) else ()


def _cached(cache: Any) -> Iterator[Any]:
    """What a cache has answered; a bounded one shows what it has been asked beside."""
    parts = gc.get_referents(cache)
    asked = {id(key) for part in parts for key in _keys(part)}
    for part in parts:
        if isinstance(part, dict):
            yield from (one for one in cast("dict[Any, Any]", part).values() if type(one).__name__ != _LINK)
        elif part is not cache.__wrapped__ and id(part) not in asked:
            yield part
