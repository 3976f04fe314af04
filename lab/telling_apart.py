"""Inputs on which a reference without one thing (``lesser``) is not the reference: searched, for few draws are.

Every row walks by itself: it is changed here and there, and goes on from what it was changed to where the reference
says of it what it said before. So boards stay solved, checksums right and texts valid while what they hang on changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy as np

from nki_anvil.lab.reference_module import ReferenceFault
from nki_anvil.lab.searched_reference import (
    Array,
    Inputs,
    Marks,
    Reference,
    copy,
    differ,
    fitting,
    independent_rows,
    own_part,
)

Outputs = list[Array]

TRIES: Final = 600
WORK: Final = 2.0**28
"""Elements that all runs of a search take and give at most."""
SECONDS: Final = 1.5
"""After which a search ends."""
ENOUGH: Final = 4
"""Rows, after which it ends as well."""
ASTRAY: Final = 0.1
"""How often a row goes on from what the reference says something else of."""
BLOCKS: Final = 16
"""Elements of a block at most that is exchanged with another one."""


def apart(one: Sequence[Array], other: Sequence[Array], rows: int, told: float = np.inf) -> Array:
    """By row, whether outputs differ, be it in what is no number; of no ``rows``, all together.

    They do where an element is another, or is off by as much of the largest in its row as is ``told``; of single
    numbers each, in all of them.
    """
    if len(one) != len(other):
        return np.ones(rows or 1, bool)
    found = [_apart(a, b, told).reshape(rows or 1, -1).any(axis=1) for a, b in zip(one, other, strict=True)]
    return np.any(found, axis=0)


def _apart(one: Array, other: Array, told: float) -> Array:
    if one.shape != other.shape:
        return np.ones(one.shape, bool)
    a, b = one.astype(np.float64), other.astype(np.float64)
    along = -1 if a.ndim and a.shape[-1] > 1 else None
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(a), np.abs(a), 0.0).max(axis=along, keepdims=True, initial=0.0)
        off = np.abs(a - b) > told * size
    return differ(one, other) | off | (np.isfinite(a) != np.isfinite(b))


class Walk:
    """From one draw on; ``found`` are rows on which both differ."""

    def __init__(
        self, reference: Reference, lesser: Callable[[Inputs], Outputs], drawn: Inputs, other: Inputs, random: Any
    ) -> None:
        self._reference, self._lesser, self._random = reference, lesser, random
        self._now, self._other = copy(drawn), other
        self._said = reference.run(copy(drawn))
        self._rows = independent_rows(reference, drawn, other, self._said, least=1)
        self._names = [n for n, item in drawn.items() if np.ndim(item) and (not self._rows or len(item) == self._rows)]
        elements = sum(np.size(item) for item in [*drawn.values(), *self._said])
        self.tries = min(TRIES, int(WORK / max(1, 2 * elements)))
        self.found = np.zeros(self._rows or 1, bool)

    def searched(self, marks: Marks) -> Inputs:
        """The rows that were found, beside others where they have come to."""
        end = time.monotonic() + SECONDS
        self.found |= self._look(self._now, self._said)
        for _ in range(self.tries if self._names else 0):
            if self.found.sum() >= min(ENOUGH, len(self.found)) or time.monotonic() > end:
                break
            self._step(marks)
        return self._now

    def _look(self, inputs: Inputs, said: Outputs) -> Array:
        try:
            return apart(said, self._lesser(copy(inputs)), self._rows)
        except ReferenceFault:
            return np.zeros(self._rows or 1, bool)

    def _step(self, marks: Marks) -> None:
        changed = copy(self._now)
        for row in np.flatnonzero(~self.found).tolist():
            self._change(changed, row, marks)
        try:
            changed = self._reference.inside(changed)
            said = self._reference.run(copy(changed))
        except ReferenceFault:  # such inputs are not what it takes
            return
        found = self._look(changed, said)
        as_before = ~apart(self._said, said, self._rows)
        goes_on = found | as_before | (self._random.random(len(found)) < ASTRAY)
        for row in np.flatnonzero(goes_on & ~self.found).tolist():
            for name in self._names:
                self._part(self._now, name, row)[...] = self._part(changed, name, row)
            for kept, new in zip(self._said, said, strict=True):
                if self._rows:
                    kept[row, ...] = new[row]
                else:
                    kept[...] = new
        self.found |= found

    def _part(self, inputs: Inputs, name: str, row: int) -> Array:
        return own_part(inputs, name, row, self._rows)

    def _change(self, inputs: Inputs, row: int, marks: Marks) -> None:
        name = str(self._random.choice(self._names))
        flat = self._part(inputs, name, row).reshape(-1)
        if not flat.size or flat.base is None:
            return
        ways = (self._replace, self._replace, self._add, self._exchange, self._exchange, self._copy)
        ways[int(self._random.integers(len(ways)))](
            flat, self._part(self._other, name, row).reshape(-1), marks.get(name, ())
        )

    def _replace(self, flat: Array, other: Array, marks: Sequence[float]) -> None:
        """One place: another draw, a mark, another of the row, or the next number."""
        place = int(self._random.integers(flat.size))
        ways = [other[self._random.integers(other.size)], flat[self._random.integers(flat.size)]]
        ways += [_next(flat[place], self._random)] + ([self._random.choice(marks)] if len(marks) else [])
        flat[place] = fitting(ways[int(self._random.integers(len(ways)))], flat.dtype)

    def _add(self, flat: Array, other: Array, marks: Sequence[float]) -> None:
        """What is added in one place is taken away in another, as in what a sum is kept of."""
        one, two = self._random.integers(flat.size, size=2).tolist()
        if flat.dtype.kind == "b" or one == two:
            return
        to = self._random.choice(marks) if len(marks) else other[self._random.integers(other.size)]
        by = self._random.choice([1, 2, float(to) - float(flat[one])])
        for place, step in ((one, by), (two, -by)):
            flat[place] = fitting(flat[place].item() + step, flat.dtype)

    def _exchange(self, flat: Array, other: Array, marks: Sequence[float]) -> None:
        """Two blocks of one length, which divides the row or is any."""
        sizes = [n for n in range(1, min(BLOCKS, flat.size // 2) + 1) if flat.size % n == 0] or [1]
        size = int(self._random.choice(sizes))
        blocks = flat.size // size
        if blocks < 2:
            return
        one, two = (self._random.integers(blocks, size=2) * size).tolist()
        first = flat[one : one + size].copy()
        flat[one : one + size] = flat[two : two + size]
        flat[two : two + size] = first

    def _copy(self, flat: Array, other: Array, marks: Sequence[float]) -> None:
        """A segment of another draw, or of the row."""
        size = int(2 ** self._random.uniform(0, np.log2(max(2, flat.size / 2))))
        one, two = self._random.integers(flat.size - size + 1, size=2).tolist()
        source = other if self._random.random() < 0.5 and other.size == flat.size else flat
        flat[one : one + size] = source[two : two + size].copy()


def _next(now: Any, random: Any) -> Any:
    if isinstance(now, np.bool_):
        return not now
    return int(cast(Any, now)) + int(random.choice([-1, 1])) if isinstance(now, np.integer) else -now
