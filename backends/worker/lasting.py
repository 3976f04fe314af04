"""What a text's names hold from call to call: nothing that a call could change, whichever call that is.

Which statements could change what they hold, a text's forms tell (``lab.constants``). Here the objects themselves are
looked at once they are made, so that no way of making one is missed.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import gc
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Optional, TypeVar, cast

import numpy as np

from nki_anvil.backends.worker import telling
from nki_anvil.backends.worker.absent import Absent
from nki_anvil.backends.worker.executing import Printing
from nki_anvil.backends.worker.kernel_text import FILENAME
from nki_anvil.sim.kernel import Kernel

_TABLES: Final = (list, dict, set)
_CHANGEABLE: Final = (*_TABLES, bytearray, np.ndarray)
_MADE_AS_TABLES: Final = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_MAKING_TABLES: Final = frozenset({"list", "dict", "set", "sorted"})
_ENUMERATIONS: Final = (enum.Enum, enum.IntEnum, getattr(enum, "StrEnum", enum.IntEnum))
_KNOWN: Final[Any] = (
    Absent, Printing, np.dtype, np.finfo, np.iinfo, np.generic, TypeVar,
    *{type(form) for form in cast("list[Any]", [Optional[int], list[int], Any])},
)  # fmt: skip
"""Of others' objects that a text may have made those that nobody can change, or that stand for what is not there."""
_DEPTH: Final = 60
_IN_ENUMERATIONS: Final = (types.FunctionType, property, staticmethod, classmethod)
_PYTHONS: Final = frozenset({*vars(types.ModuleType("")), "__builtins__", "__annotations__", "__file__", "__cached__"})
"""Names that Python gives a module."""


class Lasting(Exception):
    """A name holds what a call could change for the next one."""

    code = "TraceUnstable"
    remedy = "Write a tuple or a frozen dataclass, or make it inside of the function."

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(f"`{name}` holds what a call could change for the next one: {kind}.")


def _tables(statements: Iterable[ast.stmt]) -> frozenset[str]:
    """Names that stand for a list, a dictionary or a set as far as a text's forms tell."""
    found: set[str] = set()
    for one in statements:
        if isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value is not None and _is_table(one.value):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            found.update(target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(one, ast.If):
            found |= _tables([*one.body, *one.orelse])
    return frozenset(found)


def _is_table(value: ast.expr) -> bool:
    called = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _MAKING_TABLES
    return called or isinstance(value, _MADE_AS_TABLES)


def check(
    namespace: Mapping[str, Any], statements: Iterable[ast.stmt], *, apart: Collection[str] = frozenset()
) -> None:
    """Raises Lasting for a name of the text that holds what can be changed, PlaceTold for a text that tells a place.

    A list, a dictionary or a set may be held by a name that stands for one by the form of its statement, which is read
    in place, and by nothing else. Names ``apart`` from the kernel are not looked at.
    """
    looked = _Looked(str(namespace.get("__name__")))
    read_in_place = _tables(statements)
    for name, held in namespace.items():
        if not name.startswith(".") and name not in _PYTHONS and name not in apart:
            for part in _of_table(held) if name in read_in_place and isinstance(held, _TABLES) else [held]:
                looked.through(name, part)


def _of_table(table: Any) -> list[Any]:
    if isinstance(table, dict):
        return [part for pair in cast("dict[Any, Any]", table).items() for part in pair]
    return [*table]


class _Looked:
    """Objects that have been looked at, of one module's text."""

    def __init__(self, module: str) -> None:
        self._module, self._told = module, telling.watching(module)
        self._seen: dict[int, Any] = {}
        self._made = frozenset(map(id, gc.get_objects()))
        """What there was before the text is frozen (``keeping.begin``), and of Python or the language."""

    def through(self, name: str, value: Any, depth: int = 0) -> None:
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if depth > _DEPTH:
            raise Lasting(name, "objects in objects without end")
        self._told(value)
        for part in self._parts(name, value):
            self.through(name, part, depth + 1)

    def _parts(self, name: str, value: Any) -> Iterable[Any]:
        """What it holds; raises Lasting where a call could change that."""
        if isinstance(value, type):
            return self._of_class(name, value) if value.__module__ == self._module else ()
        if isinstance(value, types.FunctionType):
            return _of_function(value) if value.__globals__.get("__name__") == self._module else ()
        if isinstance(value, enum.Enum):
            return [one for attribute, one in vars(value).items() if attribute != "__objclass__"]
        if type(value).__module__ == self._module:
            return self._of_object(name, value)
        for kinds, parts in _WITHIN:
            if isinstance(value, kinds):
                return parts(value)
        if isinstance(value, dataclasses.Field):
            return self._of_field(name, cast("dataclasses.Field[Any]", value))
        if isinstance(value, Kernel):
            return (cast("Any", value).__wrapped__,)
        if isinstance(value, _CHANGEABLE) or (id(value) in self._made and not isinstance(value, _KNOWN)):
            raise Lasting(name, f"a {type(cast('Any', value)).__name__}")
        return ()

    def _of_class(self, name: str, kind: Any) -> Iterable[Any]:
        if issubclass(kind, enum.Enum):
            if len(kind.__bases__) != 1 or kind.__bases__[0] not in _ENUMERATIONS:
                raise Lasting(name, f"members of {kind.__qualname__}, which is derived from more than an enumeration")
            return [*kind, *(one for one in vars(kind).values() if isinstance(one, _IN_ENUMERATIONS))]
        fields: Mapping[str, Any] = getattr(kind, "__dataclass_fields__", {})
        held = {
            attribute: one
            for attribute, one in cast("dict[str, Any]", vars(kind)).items()
            if not attribute.startswith("__") or _is_written(one)
        }
        for attribute, one in held.items():
            if isinstance(one, types.FunctionType) and one.__name__ not in (attribute, "<lambda>"):
                raise Lasting(name, f"the method {one.__name__} of {kind.__qualname__} by another name")
        return [*fields.values(), *held.values(), *(base for base in kind.__bases__ if base.__module__ == self._module)]

    def _of_object(self, name: str, value: Any) -> Iterable[Any]:
        held: Mapping[str, Any] = getattr(value, "__dict__", {})
        if not all(map(_is_frozen, cast("Any", type(value)).__mro__[:-1])):
            raise Lasting(name, f"an object of {type(value).__qualname__}, which is not frozen")
        slots = [getattr(value, field) for field in value.__dataclass_fields__ if hasattr(value, field)]
        return [*held.values(), *slots]

    def _of_field(self, name: str, field: dataclasses.Field[Any]) -> Iterator[Any]:
        if field.default is not dataclasses.MISSING:
            yield field.default
        if field.default_factory is not dataclasses.MISSING:
            yield field.default_factory
        if field.metadata:
            raise Lasting(name, "the metadata of a field")


def _is_written(method: Any) -> bool:
    """Whether it is a function that stands in the text, and none that Python made for a class."""
    function = getattr(method, "__func__", method)
    return isinstance(function, types.FunctionType) and function.__code__.co_filename == FILENAME


def _is_frozen(kind: Any) -> bool:
    """Whether a class itself was made so that its objects' attributes cannot be set, or is the language's."""
    held = cast("dict[str, Any]", vars(kind))
    if kind.__module__.partition(".")[0] in ("nki", "nki_anvil"):
        return True
    return "__dataclass_params__" in held and bool(held["__dataclass_params__"].frozen)


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from (cell.cell_contents for cell in function.__closure__ or () if _is_full(cell))
    yield from vars(function).values()


def _is_full(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _of_builtin(function: types.BuiltinFunctionType) -> Iterable[Any]:
    """What it is a method of."""
    bound = function.__self__
    return () if bound is None or isinstance(bound, types.ModuleType) else (bound,)


_WITHIN: Final[Sequence[tuple[Any, Callable[[Any], Iterable[Any]]]]] = (
    (types.MethodType, lambda one: (one.__func__, one.__self__)),
    (types.BuiltinFunctionType, _of_builtin),
    (tuple, list),
    (frozenset, list),
    (slice, lambda one: (one.start, one.stop, one.step)),
    (property, lambda one: (one.fget, one.fset, one.fdel)),
    ((staticmethod, classmethod), lambda one: (one.__func__,)),
)
"""What holds others, and the others."""
