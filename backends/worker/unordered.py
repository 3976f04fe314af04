"""Sets whose order is asked for only where it is the same in every process.

Python orders a set by its members' hashes, and those of texts, None and plain objects are drawn anew for each process.
Two traces that agree prove nothing about a third, so a set of such members says what it holds, and not in which order.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

_MAKING = (
    "__or__", "__and__", "__sub__", "__xor__", "__ror__", "__rand__", "__rsub__", "__rxor__",
    "union", "intersection", "difference", "symmetric_difference", "copy",
)  # fmt: skip


class OrderUnknown(Exception):
    """A text goes through a set that another process orders differently."""

    code = "TraceUnstable"
    remedy = "Go through a tuple, or through sorted(...) of the set; `in`, `len` and its operators ask for no order."


class _Asked:
    """What shows an order, for both kinds of sets."""

    def __iter__(self) -> Iterator[Any]:
        found = list(members(self))
        if len(found) > 1 and not all(map(_same_everywhere, found)):
            raise OrderUnknown("The kernel goes through a set whose order another process draws anew.")
        return iter(found)

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        return frozenset(members(self)).isdisjoint(_within(other))

    def __repr__(self) -> str:
        plain = frozenset[Any] if isinstance(self, frozenset) else set[Any]
        return repr(plain(list(self)))

    __str__ = __repr__


class Unordered(_Asked, set[Any]):
    """Stands for ``set``."""

    def pop(self) -> Any:
        chosen = next(iter(self))
        self.remove(chosen)
        return chosen


class UnorderedFrozen(_Asked, frozenset[Any]):
    """Stands for ``frozenset``."""


def guard(namespace: dict[str, Any]) -> None:
    """Give a text these sets, and what may go through them since its result has no trace of their order."""
    namespace.update({"set": Unordered, "frozenset": UnorderedFrozen})
    namespace.update({name: _blind(getattr(builtins, name)) for name in ("sorted", "min", "max")})


def members(one: Any) -> Iterator[Any]:
    """A set's, in whatever order they come: for who asks nothing that hangs on it."""
    plain: Any = frozenset if isinstance(one, frozenset) else set
    return plain.__iter__(one)


def _within(items: Any) -> Iterable[Any]:
    return members(items) if isinstance(items, (set, frozenset)) else items


def _same_everywhere(member: Any) -> bool:
    """Whether its hash is made of numbers alone. That of bytes is drawn, as that of texts."""
    if isinstance(member, tuple):
        return all(map(_same_everywhere, cast("tuple[Any, ...]", member)))
    return type(member) in (bool, int, float, complex)


def _blind(function: Callable[..., Any]) -> Callable[..., Any]:
    """``sorted``, ``min`` and ``max``: by the members alone they tell one result, by a key also the first of equals."""

    def blind(*given: Any, **named: Any) -> Any:
        by_members_alone = len(given) == 1 and "key" not in named
        return function(*map(_within, given) if by_members_alone else given, **named)

    blind.__name__ = blind.__qualname__ = function.__name__
    return blind


def _keeping_kind(kind: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """What a plain set's operator finds, as a guarded set."""

    def made(self: Any, *others: Iterable[Any]) -> Any:
        found = plain(self, *others)
        return found if found is NotImplemented else kind(found)

    return made


for _kind, _plain in ((Unordered, set), (UnorderedFrozen, frozenset)):
    for _name in _MAKING:
        setattr(_kind, _name, _keeping_kind(_kind, getattr(_plain, _name)))
