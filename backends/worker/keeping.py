"""What a text's names hold, so that a call which leaves something behind for the next one is seen.

Lists, dictionaries, arrays, objects, classes, iterators, and functions with their defaults and closures are looked
through. Of a cache only what could be changed counts: that it has answered once is its purpose.
"""

from __future__ import annotations

import functools
import gc
import itertools
import sys
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, cast

import numpy as np

Description = tuple[Any, ...]

_VALUES: Final = frozenset({bool, int, float, complex, str, bytes, range, type(None), type(...)})
_PLAIN: Final = (int, float, complex, str, bytes)
_FIXED: Final = (types.ModuleType, types.GetSetDescriptorType, types.MemberDescriptorType, types.CodeType)
_OTHERS: Final = frozenset({"nki", "nki_anvil", "neuronxcc", "numpy", "ml_dtypes", "types", "typing"})
"""Modules whose objects hold nothing that a text can change, unless they were made for it or wrap something of it."""
_PYTHONS: Final = frozenset({"_value2member_map_", "_abc_impl", "__weakref__", "__dict__"})
"""Tables of classes that Python fills when it is asked."""
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
        self._seen: dict[int, tuple[int, Any]] = {}
        self.unseen = False
        self._described: dict[str, Description] = {}
        for name, value in namespace.items():
            if name not in _PYTHONS_GLOBALS and name not in apart and not name.startswith("."):
                self._note(name, value)
        for value in filter(self._is_own, self._made) if caches else ():
            self._note(f"{type(value).__name__} {id(value)}", value)

    def _note(self, name: str, value: Any) -> None:
        self._seen.clear()
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
            return (kind, repr(value))
        if isinstance(value, _FIXED) or self._is_of_others(value):
            return (id(value),)
        if id(value) in self._seen:
            return ("again", self._seen[id(value)][0])
        self._seen[id(value)] = len(self._seen), value
        return (kind, *map(self._describe, self._parts(value)))

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
            return _of_function(value)
        if isinstance(value, type):
            return _named(vars(value))
        if isinstance(value, _CACHE):
            self.unseen = True
            return (value.__wrapped__, *filter(self._is_changeable, _cached(value)), *self._asked(value))
        if _wraps(value):
            return _wraps(value)
        plain = [cast("Any", kind).__repr__(value) for kind in _PLAIN if isinstance(value, kind)]
        attributes = _named(getattr(value, "__dict__", {}))
        return chain(plain, self._progress(value), _keys(value), attributes, gc.get_referents(value))

    def _asked(self, cache: Any) -> list[Any]:
        """What a cache has been asked, where that counts."""
        return [key for part in gc.get_referents(cache) for key in _keys(part)] if self._caches else []

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


def _is_found(kind: type) -> bool:
    """Whether a class is in the module that it says it is of."""
    inner = "." in kind.__qualname__
    return inner or getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind


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
    """What a cache has answered; a bounded one shows what it has been asked beside."""
    parts = gc.get_referents(cache)
    asked = {id(key) for part in parts for key in _keys(part)}
    for part in parts:
        if isinstance(part, dict):
            yield from (one for one in cast("dict[Any, Any]", part).values() if type(one).__name__ != _LINK)
        elif part is not cache.__wrapped__ and id(part) not in asked:
            yield part


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    yield function.__code__
    yield from function.__defaults__ or ()
    yield from _named(function.__kwdefaults__ or {})
    yield from (part for cell in function.__closure__ or () for part in gc.get_referents(cell))
    yield from _named(vars(function))
