"""Inputs that hold what the reference itself holds (``held_numbers``): its sequences, its tables and its numbers.

A stop sequence, an adapter, a template, a tone: what a kernel does where it occurs no draw by lot shows, for it occurs
in none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from nki_anvil.lab import full_scale
from nki_anvil.lab.arithmetic import Array, is_array
from nki_anvil.lab.held_numbers import SHORTEST, Held

SHORTEST_OF_FLOATS: Final = 8
"""Of fewer numbers any row holds nearly as many times as much as of these."""
BASES: Final = (2, 4, 8, 10, 16, 256, 65536)
"""In which numbers are spelt in rows: as bits, digits, nibbles, bytes and words, whichever a row is of."""
WORD: Final = 4
"""Digits of which a spelt number may have a multiple, with zeros before it."""
CASES, SPARE, MANY = 4, 2, 48
"""Cases of rows, twice as many of that many sequences; and of columns and blocks."""
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
FILLED: Final = 1 / 4
"""Of a plane, by blocks, at most."""


def cases(held: Held, drawn: Mapping[str, Any]) -> list[str]:
    """Ways and turns of cases in which any of it fits into any of these inputs."""
    turns = {"rows": CASES * (1 + (len(held.lines) > MANY))}
    found = [way for way in WAYS if laid(held, drawn, np.random.default_rng(0), way)]
    return [f"{way}/{turn}" for way in found for turn in range(turns.get(way, SPARE))]


def laid(held: Held, drawn: Mapping[str, Any], random: Any, way: str = "rows") -> dict[str, Array]:
    """Inputs with rows, columns or places in which it occurs, where any of it fits."""
    bent = {name: WAYS[way](held, item, random) for name, item in drawn.items() if is_array(item)}
    return {name: item for name, item in bent.items() if item is not None}


def in_any_way(held: Held, drawn: Mapping[str, Any], random: Any) -> dict[str, Array]:
    """Every second time in rows."""
    ways = ["rows", "rows", *(way for way in WAYS if way != "rows")]
    return laid(held, drawn, random, ways[int(random.integers(len(ways)))]) or laid(held, drawn, random)


def _in_rows(held: Held, item: Array, random: Any) -> Array | None:
    """Along the last axis."""
    if not item.ndim or item.shape[-1] < SHORTEST:
        return None
    fitting = [one for one in (*held.lines, *_spelled(held.numbers, item)) if _fits(one, item)]
    return _rows(item, fitting, random, item.dtype.kind in "iu") if fitting and item.size else None


def _in_columns(held: Held, item: Array, random: Any) -> Array | None:
    """Along the axis before the last: steps of a time that comes first."""
    if item.ndim < 2 or min(item.shape[-2:]) < SHORTEST:
        return None
    turned = _in_rows(held, np.swapaxes(item, -1, -2), random)
    return None if turned is None else np.swapaxes(turned, -1, -2)


def _in_blocks(held: Held, item: Array, random: Any) -> Array | None:
    """Anywhere in the last two axes, in some of them across the ends of chunks."""
    if item.ndim < 2:
        return None
    height, width = item.shape[-2:]
    fitting = [one for one in held.blocks if _fits(one.reshape(-1), item) and _within(one, height, width)]
    if not fitting:
        return None
    planes: Array = item.astype(np.float64).reshape(-1, height, width)
    spread = 0.0 if item.dtype.kind in "iu" else float(planes.std()) or 1.0
    for plane in planes:
        offset = int(random.integers(len(fitting)))
        for turn in range(max(1, int(FILLED * plane.size / fitting[0].size))):
            _lay(plane, fitting[(offset + turn) % len(fitting)], fitting, spread, random)
    return planes.reshape(item.shape)


def _at_full_scale(held: Held, item: Array, random: Any) -> Array | None:
    """Along the last axis, integers alone: as far as they go to either side, by what they meet."""
    return full_scale.of_rows(held.lines, item, random)


def _columns_at_full_scale(held: Held, item: Array, random: Any) -> Array | None:
    """Along the axis before the last."""
    turned = full_scale.of_rows(held.lines, np.swapaxes(item, -1, -2), random) if item.ndim > 1 else None
    return None if turned is None else np.swapaxes(turned, -1, -2)


def _within(block: Array, height: int, width: int) -> bool:
    return block.shape[0] <= height and block.shape[1] <= width


def _lay(plane: Array, block: Array, held: Sequence[Array], spread: float, random: Any) -> None:
    """As it is, or else turned, or with some of its elements others; floats with little of the plane beside them."""
    kind = int(random.integers(5))
    if kind == 0:
        turned = (block.T, block[::-1], block[:, ::-1], block[::-1, ::-1])[int(random.integers(4))]
        block = turned if _within(turned, *plane.shape) else block
    rows, columns = (_begin(whole, part, random) for whole, part in zip(plane.shape, block.shape, strict=True))
    place = plane[rows : rows + block.shape[0], columns : columns + block.shape[1]]
    written = block.reshape(-1)
    if kind == 1:
        written = _but_some(written, place.reshape(-1), random)
    if spread:
        written = _strong(written, held, spread, random) + 10.0 ** random.uniform(*BESIDE) * place.reshape(-1)
    place[...] = written.reshape(place.shape)


def _begin(whole: int, part: int, random: Any) -> int:
    """Anywhere; every third time at an end, or across the end of a chunk."""
    last = whole - part
    if random.random() < 2 / 3:
        return int(random.integers(last + 1))
    ends = [end - int(random.integers(1, part)) for size in EDGES for end in range(size, whole, size) if part > 1]
    return min(last, max(0, int(random.choice([0, last, *ends]))))


WAYS: Final[Mapping[str, Callable[[Held, Array, Any], Array | None]]] = {
    "rows": _in_rows,
    "columns": _in_columns,
    "blocks": _in_blocks,
    "full": _at_full_scale,
    "full_columns": _columns_at_full_scale,
}


def _spelled(numbers: Sequence[int], item: Array) -> list[Array]:
    """Numbers digit by digit, to the base of which an input's numbers are digits; with zeros before them as well."""
    if item.dtype.kind not in "iu" or not item.size or item.min() < 0:
        return []
    base = next((base for base in BASES if item.max() < base), 0)
    found: list[Array] = []
    for number in numbers if base else ():
        digits: list[int] = []
        while number:
            number, digit = divmod(number, base)
            digits.insert(0, digit)
        if len(digits) < SHORTEST:
            continue
        before = [0] * (-len(digits) % WORD)
        found += [np.array(some, np.float64) for some in ([digits, before + digits] if before else [digits])]
    return found


def _fits(sequence: Array, item: Array) -> bool:
    """Whether an input may hold it: one of integers, whole numbers of its format."""
    if item.dtype.kind not in "iu":
        return len(sequence) >= SHORTEST_OF_FLOATS
    limits = np.iinfo(item.dtype)
    return bool((sequence == np.rint(sequence)).all() and limits.min <= sequence.min() <= sequence.max() <= limits.max)


def _rows(item: Array, held: Sequence[Array], random: Any, whole: bool) -> Array:
    values: Array = item.astype(np.float64).reshape(-1, item.shape[-1])
    spread, first = float(values.std()) or 1.0, int(random.integers(len(held)))
    for turn, row in enumerate(values):
        if random.random() >= KEPT:
            sequence = held[(first + turn) % len(held)]
            row[:] = _spelt(row, sequence, held, random) if whole else _drawn(row, sequence, held, spread, random)
            if whole and random.random() < BOTH:
                row[:] = _spelt(row, held[int(random.integers(len(held)))], held, random)
    return values.reshape(item.shape)


def _spelt(row: Array, sequence: Array, held: Sequence[Array], random: Any) -> Array:
    """The sequence somewhere in a row of integers: as it is, backwards, all but its last, behind some of itself, twice,
    throughout, with a few of its elements others, or as steps from one to the next; its elements by lot; or some of
    them and, behind them, their partners. Of one longer than the row, any part.
    """
    by_lot = random.choice(sequence, int(random.integers(1, len(row) + 1)))
    if len(sequence) > len(row):
        begin = int(random.integers(len(sequence) - len(row) + 1))
        sequence = sequence[begin : begin + len(row)]
    some = sequence[: int(random.integers(1, len(sequence)))]
    ways: tuple[Array, ...] = (
        sequence, sequence, sequence[::-1], sequence[:-1], np.append(some, sequence), np.tile(sequence, 2),
        _but_some(sequence, row, random), _paired(row, sequence, held, random),
        np.cumsum(np.append(random.choice(row), sequence)), np.resize(sequence, len(row)), by_lot,
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
    written = _strong(sequence, held, spread, random)
    if len(written) > len(row):
        begin = int(random.integers(len(written) - len(row) + 1))
        written = written[begin : begin + len(row)]
    little = 10.0 ** random.uniform(*BESIDE)
    if len(written) < len(row):
        return _placed(row, written, random, little)
    return written + little * row


def _strong(sequence: Array, held: Sequence[Array], spread: float, random: Any) -> Array:
    """Of either sign, and every second time with some of another of its kind; as strong as any."""
    written: Array = sequence * random.choice([-1.0, 1.0])
    others = [one for one in held if one.size == sequence.size]
    if random.random() < 0.5:
        written = written + random.standard_normal() * others[int(random.integers(len(others)))].reshape(-1)
    size = float(np.sqrt(np.square(written).mean()))
    return written * (spread * 10.0 ** random.uniform(*HEIGHT) / (size or 1.0))


def _placed(row: Array, written: Array, random: Any, little: float = 0.0) -> Array:
    """At the row's beginning, at its end, or in between."""
    last = len(row) - len(written)
    place = int(random.choice([0, last, int(random.integers(last + 1)), int(random.integers(last + 1))]))
    part = slice(place, place + len(written))
    values = row.copy()
    values[part] = written + little * row[part]
    return values
