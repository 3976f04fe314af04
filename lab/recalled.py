"""Inputs that hold what the reference itself holds: the sequences and tables with which it computes.

A stop sequence, an adapter, a template, a tone: what a kernel does where it occurs no draw by lot shows, for it occurs
in none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import CodeType, FunctionType
from typing import Any, Final, cast

import numpy as np

from nki_anvil.lab.arithmetic import Array, is_array
from nki_anvil.lab.meeting import Recording

SHORTEST: Final = 2
LONGEST: Final = 4096
"""Elements of a sequence."""
SHORTEST_OF_FLOATS: Final = 8
"""Of fewer numbers any row holds nearly as many times as much as of these."""
LARGEST: Final = 2.0**63
"""Numbers beyond that are none of an input's."""
AXES: Final = 4
"""Numbers up to there, as few of them, are axes rather than a sequence."""
DRAWING: Final = frozenset({"get_inputs"})
"""What is written there is how inputs are drawn."""
MOST: Final = 48
"""Sequences that are told apart, of each name the first before any other's second."""
LINES: Final = 32
"""Rows and columns of a table that are taken for sequences."""
DEPTH: Final = 3
"""Of lists in lists, or in dictionaries."""
OPERANDS: Final = 64
"""Of a run, that are looked at."""
CASES: Final = 4
HEIGHT, BESIDE = (-0.5, 1.5), (-5.0, -0.3)
"""Powers of ten of how strong such a sequence is beside an input's spread, and of how much of the own draw is left
beside that."""
BOTH: Final = 0.3
"""Rows of integers that hold a second sequence as well, before the first, behind it, or over it."""
WRONG: Final = 3
"""Elements of a sequence at most that are others."""
EDGES: Final = (32, 64, 128, 512)
"""Lengths of chunks across whose ends sequences stand, beside halves and quarters of a row."""
KEPT: Final = 1 / 8
"""Rows that stay as they were drawn."""


class Operands(Recording):
    """What one run computes with, array by array."""

    def __init__(self) -> None:
        super().__init__()
        self.arrays: list[Array] = []

    def see(self, ufunc: np.ufunc, method: str, operands: Sequence[Any], axis: Any, result: Any) -> Any:
        """Take the operands alone."""
        for one in operands:
            if is_array(one) and one.dtype.kind in "fiu" and one.size <= LONGEST and len(self.arrays) < OPERANDS:
                self.arrays.append(np.array(one, np.float64))
        return result


def unmoved(one: Operands, other: Operands) -> Iterator[Array]:
    """What is the same in runs on different inputs."""
    for first, second in zip(one.arrays, other.arrays, strict=False):
        if first.shape == second.shape and np.array_equal(first, second):
            yield first


def named(held: Mapping[str, Any]) -> Iterator[Array]:
    """Sequences of numbers, and texts as numbers, that a module's names and functions hold."""
    functions: list[FunctionType] = []
    for name, one in held.items():
        if isinstance(one, FunctionType):
            functions += [one] if name not in DRAWING and one.__globals__ is held else []
        elif isinstance(one, type) and one.__module__ == held.get("__name__"):
            functions += [part for part in vars(one).values() if isinstance(part, FunctionType)]
            yield from _sequences({key: part for key, part in vars(one).items() if not key.startswith("__")})
        elif not name.startswith("__"):
            yield from _sequences(one)
    for one in functions:
        yield from _constants(one.__code__, one.__doc__)
        yield from _sequences([*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values()])


def _constants(code: CodeType, documented: str | None) -> Iterator[Array]:
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _constants(value, None)
        elif not isinstance(value, str) or value != documented:
            yield from _sequences(value)


def _sequences(value: Any, depth: int = DEPTH) -> Iterator[Array]:
    """What a value is, or holds: several of unlike lengths in a list or a dictionary."""
    if isinstance(value, re.Pattern):
        value = cast("re.Pattern[Any]", value).pattern
    if isinstance(value, str):
        value = [ord(one) for one in value]
    if isinstance(value, (set, frozenset)):
        value = sorted(cast("set[Any]", value), key=repr)
    if isinstance(value, (tuple, list)) and any(one is None for one in cast(Sequence[Any], value)):
        value = [0 if one is None else one for one in cast(Sequence[Any], value)]  # whatever stands there
    if _is_numbers(value):
        yield np.array(list(value) if isinstance(value, bytes) else value, np.float64)
    elif depth and isinstance(value, Mapping):
        for part in cast(Mapping[Any, Any], value).values():
            yield from _sequences(part, depth - 1)
    elif depth and isinstance(value, (tuple, list)):
        for part in cast(Sequence[Any], value):
            yield from _sequences(part, depth - 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) < LARGEST


def _is_numbers(value: Any) -> bool:
    if is_array(value):
        return value.dtype.kind in "fiu" and SHORTEST <= value.size <= LONGEST
    if not isinstance(value, (tuple, list, bytes)):
        return False
    numbers = cast(Sequence[Any], value)
    if not (SHORTEST <= len(numbers) <= LONGEST and all(map(_is_number, numbers))):
        return False
    return len(numbers) > AXES or any(abs(one) > AXES for one in numbers)


def sequences(arrays: Iterable[Array]) -> list[Array]:
    """Each once: what is no one number throughout, and rows and columns of tables."""
    found: dict[tuple[float, ...], Array] = {}
    for lines in zip_longest(*(_lines(np.squeeze(array)) for array in arrays)):
        for line in lines:
            if line is not None and len(line) >= SHORTEST and np.isfinite(line).all() and np.ptp(line) > 0:
                found.setdefault(tuple(line.tolist()), line)
    return list(found.values())[:MOST]


def _lines(array: Array) -> Iterator[Array]:
    if array.ndim == 1:
        yield array
    elif array.ndim == 2:
        yield from array[:LINES]
        yield from array.T[:LINES]


def laid(held: Sequence[Array], drawn: Mapping[str, Any], random: Any) -> dict[str, Array]:
    """Inputs with rows in which those sequences occur, where any of them fits."""
    bent: dict[str, Array] = {}
    for name, item in drawn.items():
        if is_array(item) and item.ndim and item.shape[-1] >= SHORTEST:
            whole = item.dtype.kind in "iu"
            fitting = [one for one in held if len(one) <= item.shape[-1] and _fits(one, item)]
            if fitting:
                bent[name] = _rows(item, fitting, random, whole)
    return bent


def _fits(sequence: Array, item: Array) -> bool:
    """Whether an input may hold it: one of integers, whole numbers of its format."""
    if item.dtype.kind not in "iu":
        return len(sequence) >= SHORTEST_OF_FLOATS
    limits = np.iinfo(item.dtype)
    return bool((sequence == np.rint(sequence)).all() and limits.min <= sequence.min() <= sequence.max() <= limits.max)


def _rows(item: Array, held: Sequence[Array], random: Any, whole: bool) -> Array:
    values: Array = item.astype(np.float64).reshape(-1, item.shape[-1])
    spread = float(values.std()) or 1.0
    for turn, row in enumerate(values):
        if random.random() >= KEPT:
            sequence = held[turn % len(held)]
            row[:] = _spelt(row, sequence, held, random) if whole else _drawn(row, sequence, held, spread, random)
            if whole and random.random() < BOTH:
                row[:] = _spelt(row, held[int(random.integers(len(held)))], held, random)
    return values.reshape(item.shape)


def _spelt(row: Array, sequence: Array, held: Sequence[Array], random: Any) -> Array:
    """The sequence somewhere in a row of integers: as it is, backwards, all but its last, behind some of itself, twice,
    throughout, with a few of its elements others, or as steps from one to the next; or some of its elements and, behind
    them, their partners.
    """
    some = sequence[: int(random.integers(1, len(sequence)))]
    ways: tuple[Array, ...] = (
        sequence, sequence, sequence[::-1], sequence[:-1], np.append(some, sequence), np.tile(sequence, 2),
        _but_some(sequence, row, random), _paired(row, sequence, held, random),
        np.cumsum(np.append(random.choice(row), sequence)), np.resize(sequence, len(row)),
    )  # fmt: skip
    written = ways[int(random.integers(len(ways)))]
    return _across(row, written[: len(row)], random)


def _across(row: Array, written: Array, random: Any) -> Array:
    """Anywhere, across an end of a chunk, or across the row's own, as in a ring."""
    length, ways = len(row), random.random()
    if ways < 0.5 or len(written) < 2:
        return _placed(row, written, random)
    before = int(random.integers(1, len(written)))
    ends = [length // 2, length // 4, 3 * length // 4, *(n * size for size in EDGES for n in range(1, length // size))]
    end = length if ways > 0.85 else int(random.choice(ends))
    values = row.copy()
    values[(end - before + np.arange(len(written))) % length] = written
    return values


def _but_some(sequence: Array, row: Array, random: Any) -> Array:
    """With one to three of its elements as somewhere in the row, or as another of its own."""
    count = min(int(random.integers(1, WRONG + 1)), len(sequence))
    written = sequence.copy()
    for place in random.permutation(len(sequence))[:count]:
        written[place] = random.choice([random.choice(row), random.choice(sequence)])
    return written


def _paired(row: Array, sequence: Array, held: Sequence[Array], random: Any) -> Array:
    """As brackets within brackets: elements by lot, and those of another sequence as long at the same places, the last
    first; every second time one of these is another. All of the row, or some of it."""
    partners = [one for one in held if len(one) == len(sequence) and one is not sequence]
    if not partners or len(row) < 2 * SHORTEST:
        return sequence
    deep = len(row) // 2 if random.random() < 0.5 else int(random.integers(1, len(row) // 2))
    letters = random.integers(0, len(sequence), deep)
    closing = partners[int(random.integers(len(partners)))][letters[::-1]]
    return np.append(sequence[letters], _but_some(closing, closing, random) if random.random() < 0.5 else closing)


def _drawn(row: Array, sequence: Array, held: Sequence[Array], spread: float, random: Any) -> Array:
    """The sequence with little else beside it: all of a row, together with another as long, or somewhere in one."""
    written: Array = sequence * random.choice([-1.0, 1.0])
    others = [one for one in held if len(one) == len(sequence)]
    if random.random() < 0.5:
        written = written + random.standard_normal() * others[int(random.integers(len(others)))]
    size = float(np.sqrt(np.square(written).mean()))
    written = written * (spread * 10.0 ** random.uniform(*HEIGHT) / (size or 1.0))
    little = 10.0 ** random.uniform(*BESIDE)
    if len(written) < len(row):
        return _placed(row, written, random, little)
    return written + little * row


def _placed(row: Array, written: Array, random: Any, little: float = 0.0) -> Array:
    """At the row's beginning, at its end, or in between."""
    last = len(row) - len(written)
    place = int(random.choice([0, last, int(random.integers(last + 1)), int(random.integers(last + 1))]))
    part = slice(place, place + len(written))
    values = row.copy()
    values[part] = written + little * row[part]
    return values
