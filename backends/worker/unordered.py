"""Sets that say what they hold, and not in which order.

Python orders a set by its members' hashes, which of texts, None and plain objects are drawn anew for each process, and
by how it came to be. Two traces that agree prove nothing about a third.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_MAKING = (
    "__or__", "__and__", "__sub__", "__xor__", "__ror__", "__rand__", "__rsub__", "__rxor__",
    "union", "intersection", "difference", "symmetric_difference", "copy",
)  # fmt: skip


class OrderUnknown(Exception):
    """A text goes through a set that another process orders differently."""

    code = "TraceUnstable"
    remedy = "Go through a tuple, or through sorted(...) of the set; `in`, `len` and its operators ask for no order."


class _Kind(type):
    """Their class: what is a set to Python is one to a text."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, frozenset if cls is UnorderedFrozen else set)

    def __repr__(cls) -> str:
        return repr(frozenset if cls is UnorderedFrozen else set)


class _Asked:
    """What shows an order, for both kinds of sets."""

    def __iter__(self) -> Iterator[Any]:
        found = list(members(self))
        if len(found) > 1:
            raise OrderUnknown("The kernel goes through a set, and its order is not the same everywhere.")
        return iter(found)

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        return frozenset(members(self)).isdisjoint(_within(other))

    def __repr__(self) -> str:
        plain = frozenset[Any] if isinstance(self, frozenset) else set[Any]
        return repr(plain(list(self)))

    __str__ = __repr__


class Unordered(_Asked, set[Any], metaclass=_Kind):
    """Stands for ``set``."""

    def pop(self) -> Any:
        chosen = next(iter(self))
        self.remove(chosen)
        return chosen


class UnorderedFrozen(_Asked, frozenset[Any], metaclass=_Kind):
    """Stands for ``frozenset``."""


def guard(namespace: dict[str, Any]) -> None:
    """Give a text these sets, and what may go through them since its result has no trace of their order."""
    namespace.update({"set": Unordered, "frozenset": UnorderedFrozen})
    namespace.update({name: _Blind(getattr(builtins, name)) for name in ("sorted", "min", "max")})


def members(one: Any) -> Iterator[Any]:
    """A set's, in whatever order they come: for who asks nothing that hangs on it."""
    plain: Any = frozenset if isinstance(one, frozenset) else set
    return plain.__iter__(one)


def _within(items: Any) -> Iterable[Any]:
    return members(items) if isinstance(items, (set, frozenset)) else items


class _Blind:
    """``sorted``, ``min`` and ``max``: by the members alone they tell one result, by a key also the first of equals.

    No function of Python's own, for that would be a method where it stands in a class.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *given: Any, **named: Any) -> Any:
        by_members_alone = len(given) == 1 and "key" not in named
        return self._function(*map(_within, given) if by_members_alone else given, **named)

    def __repr__(self) -> str:
        return repr(self._function)


def _keeping_kind(kind: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """What a plain set's operator finds, as a guarded set."""

    def made(self: Any, *others: Iterable[Any]) -> Any:
        found = plain(self, *others)
        return found if found is NotImplemented else kind(found)

    return made


for _kind, _plain in ((Unordered, set), (UnorderedFrozen, frozenset)):
    for _name in _MAKING:
        setattr(_kind, _name, _keeping_kind(_kind, getattr(_plain, _name)))
