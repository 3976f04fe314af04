"""Sets say what they hold, and not in which order.

Python orders a set by its members' hashes, which of texts, None and plain objects are drawn anew for each process, and
by how it came to be. Two traces that agree prove nothing about a third. A text's sets are Python's own; what goes
through them is looked at.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Sequence, ValuesView
from typing import Any, Final, cast

_SETS: Final = (set, frozenset)
_FREE: Final = (set, frozenset, len, bool, any, all, isinstance, issubclass, type)
"""What is handed a set and tells nothing of its order."""
_CHOOSING: Final = (sorted, min, max)
_VIEWS: Final = (KeysView, ValuesView, ItemsView)
_HOLDING: Final[Any] = (list, tuple, dict, functools.partial, types.BuiltinMethodType, *_VIEWS, *_SETS)


class OrderUnknown(Exception):
    """A text goes through a set that another process orders differently."""

    code = "TraceUnstable"
    remedy = "Go through a tuple, or through sorted(...) of the set; `in`, `len` and its operators ask for no order."

    def __init__(self) -> None:
        super().__init__("The kernel goes through a set, and its order is not the same everywhere.")


def within(value: Any) -> Any:
    """The value, what lies in which is about to be gone through. Raises OrderUnknown where that holds a set of several,
    or what a set is emptied by."""
    seen: set[int] = set()
    left = [value]
    while left:
        one = left.pop()
        if id(one) in seen or not isinstance(one, _HOLDING):
            continue
        seen.add(id(one))
        found = _held(one)
        for part in found:
            through(part)
        left += found
    return value


def taken_over(value: Any, by: Any = None) -> Any:
    """The value, which ``by`` takes over by ``|=``: a set as a whole, anything else by going through it."""
    return value if isinstance(by, _SETS) else within(through(value))


def _held(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*cast("dict[Any, Any]", value), *cast("dict[Any, Any]", value).values()]
    if isinstance(value, functools.partial):
        made = cast("functools.partial[Any]", value)
        return [made.func, *made.args, *made.keywords.values()]
    if isinstance(value, types.BuiltinMethodType):
        return [value.__self__]
    return list(cast("Iterable[Any]", value))


def through(value: Any) -> Any:
    """The value, which is about to be gone through. Raises OrderUnknown for a set of several."""
    if isinstance(value, _SETS) and len(cast("set[Any]", value)) > 1:
        raise OrderUnknown
    return cast("Any", value)


def parted(values: Any, depth: int) -> Any:
    """The same of what is bound to several names at once, which lie so many levels within each other."""
    through(values)
    if depth == 1:
        return values
    found = [*values]
    return [parted(one, depth - 1) if isinstance(one, (list, tuple, *_SETS)) else one for one in found]


def each_parted(values: Any, depth: int) -> Iterator[Any]:
    """What a loop goes through, each of which it binds to several names."""
    for one in through(values):
        yield parted(one, depth)


def handed(function: Any, given: Sequence[Any], named: Any, own: Callable[[Any], bool]) -> Sequence[Any]:
    """What a function is given: by who chooses among members of a set, those in an order of their own.

    Raises OrderUnknown where anybody but the text's ``own`` functions and those that ask for no order is given a set.
    """
    if any(function is one for one in _CHOOSING) and len(given) == 1 and "key" not in named:
        return [_within(given[0])]
    if isinstance(getattr(function, "__self__", None), _SETS):
        if getattr(function, "__name__", "") == "pop":
            through(function.__self__)
    elif not (any(function is one for one in _FREE) or own(function)):
        for one in (*given, *named.values()):
            within(through(one))
        return [_watched(one) if hasattr(one, "__next__") else one for one in given]
    return given


def _watched(made: Iterable[Any]) -> Iterator[Any]:
    for one in made:
        yield within(through(one))


def _within(items: Any) -> Iterable[Any]:
    """A set's members where one of any two is the lesser, so that their order is one, however they come."""
    if not isinstance(items, _SETS):
        return items
    found = list(cast("set[Any]", items))
    return found if _are_ordered(found) else through(items)


def _are_ordered(found: Sequence[Any]) -> bool:
    if all(isinstance(one, (int, float)) for one in found):
        return all(one == one for one in found)  # what is no number is not equal to itself
    if all(isinstance(one, tuple) for one in found):
        return all(map(_are_ordered, (list(level) for level in itertools.zip_longest(*found, fillvalue=0))))
    return all(isinstance(one, str) for one in found)
