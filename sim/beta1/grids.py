"""``nl.arange`` and ``nl.mgrid``: index expressions that span a grid."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, cast

from nki_anvil.sim.beta1.index import Index


def arange(*bounds: Any) -> Index:
    """``nl.arange(stop)`` or ``(start, stop[, step])``."""
    start, stop, step = _bounds(bounds)
    return Index(start, {}, (len(range(start, stop, step)),), (step,))


def _bounds(bounds: Sequence[Any]) -> tuple[int, int, int]:
    numbers = [operator.index(bound) for bound in bounds]
    if len(numbers) == 1:
        return 0, numbers[0], 1
    return numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 1


class Grid(tuple[Index, ...]):
    """What ``nl.mgrid[...]`` gives: one index per axis, also as ``.p``, ``.x``, ``.y``, ``.z``, ``.w``."""

    __slots__ = ()

    p = property(operator.itemgetter(0))
    x = property(operator.itemgetter(1))
    y = property(operator.itemgetter(2))
    z = property(operator.itemgetter(3))
    w = property(operator.itemgetter(4))


class MGrid:
    """``nl.mgrid[0:128, 0:512]``."""

    def __getitem__(self, key: Any) -> Any:
        keys: tuple[Any, ...] = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
        found: list[Index] = []
        for axis, item in enumerate(keys):
            line = arange(item.start or 0, item.stop, item.step or 1)
            place = tuple(slice(None) if axis == other else None for other in range(len(keys)))
            found.append(line[place])
            found[-1].meshed = True
        return Grid(found) if isinstance(key, tuple) else found[0]
