"""Regimes of integer inputs: masks that keep nothing or all but one, padding, one index throughout, lengths at edges.

Independent draws hold none of them, and what a kernel does for an empty row or a full one they never show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from nki_anvil.backends.worker import arranged as orders
from nki_anvil.backends.worker import echoes, mirrored, places, planes, regimes, series, silences, waves
from nki_anvil.backends.worker import lines as sparse_lines

Array = Any
MOST = 64
"""Tiles of a range whose ends a case asks for."""
FEWEST_ROUND = 8
"""From so large a mark on its multiples count: of a smaller one any draw has some."""


class Range(NamedTuple):
    """The smallest and the largest number of an input, and those that mean something to its problem.

    Marks are lengths of axes and numbers that a reference names: a position beyond a ring's length, a token of padding.
    Steps are those by which two numbers may differ, wherever the range begins.
    """

    low: int
    high: int
    marks: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()

    @property
    def apart(self) -> tuple[int, ...]:
        """Marks, and steps that are none."""
        return tuple(dict.fromkeys((*self.marks, *self.steps)))


Regime = Callable[[Array, Any, Range], Array]
"""Rows [n, width] of own draws, randomness, the numbers' range -> rows."""


def _own(rows: Array, rng: Any, within: Range) -> Array:
    return rows


def _lowest(rows: Array, rng: Any, within: Range) -> Array:
    return np.full_like(rows, within.low)


def _highest(rows: Array, rng: Any, within: Range) -> Array:
    return np.full_like(rows, within.high)


def _same(rows: Array, rng: Any, within: Range) -> Array:
    """One number in all of a row."""
    return np.broadcast_to(rows[:, :1], rows.shape)


def _lone(rows: Array, rng: Any, within: Range) -> Array:
    """The smallest number but for one, which is the largest, or the other way round."""
    count, length = rows.shape
    columns: Array = _mostly_at(places.edges(length, 0), length, count, rng)
    turned = rng.random((count, 1)) < 0.5
    values = np.broadcast_to(np.where(turned, within.high, within.low), rows.shape).copy()
    values[np.arange(count), columns] = np.where(turned, within.low, within.high)[:, 0]
    return values


def _padded(rows: Array, rng: Any, within: Range) -> Array:
    """The largest number up to some column and the smallest from there on, or the other way round."""
    count, length = rows.shape
    first = _mostly_at(places.edges(length + 1, 0), length + 1, count, rng)
    before = cast(Any, np).arange(length) < first[:, None]
    turned: Array = rng.random((count, 1)) < 0.5
    return np.where(np.logical_xor(before, turned), within.high, within.low)


def _sorted(rows: Array, rng: Any, within: Range) -> Array:
    """Ascending, or descending."""
    ascending = np.sort(rows, axis=-1)
    return np.where(rng.random((len(rows), 1)) < 0.5, ascending, ascending[:, ::-1])


def _counted(rows: Array, rng: Any, within: Range) -> Array:
    """Each the one before it and one more, from the smallest or the next one on: positions, and edges of a path where
    another input counts from the other."""
    first: Array = rng.integers(0, 2, (len(rows), 1))
    return within.low + (first + cast(Any, np).arange(rows.shape[1])) % (within.high - within.low + 1)


def _uneven(rows: Array, rng: Any, within: Range) -> Array:
    """Nearly the largest number, even and odd: sums that float32 does not hold."""
    most = 1 + min(64, (within.high - within.low) // 4)
    return np.maximum(within.high - rng.integers(0, most, rows.shape), within.low)


def step(rows: Array, rng: Any, within: Range) -> Array:
    """One number in all of a row, but for one element that is the next: a variance of which little is left."""
    count, length = rows.shape
    values: Array = np.broadcast_to(_lower(count, rng, within), rows.shape).copy()
    values[np.arange(count), rng.integers(0, length, count)] += 1
    return np.minimum(values, within.high)


def neighbours(rows: Array, rng: Any, within: Range) -> Array:
    """A number and the next one, mixed."""
    return np.minimum(_lower(len(rows), rng, within) + rng.integers(0, 2, rows.shape), within.high)


def _scaled(rows: Array, rng: Any, within: Range) -> Array:
    """Of every size on a log scale, from either end or zero on; in every other row between two powers of two."""
    count, _ = rows.shape
    bits = np.log2(max(1, within.high - within.low) + 1)
    narrow = np.floor(rng.random((count, 1)) * bits)
    one: Array = rng.permutation(np.arange(count))[:, None] % 2 == 1
    sizes = np.exp2(np.where(one, narrow, 0) + rng.random(rows.shape) * np.where(one, 1.0, bits)).astype(np.int64) - 1
    signs: Array = rng.choice([-1, 1], rows.shape)
    starts = [within.low + sizes, within.high - sizes, signs * sizes]
    chosen = np.choose(rng.integers(0, 3 if within.low < 0 < within.high else 2, (count, 1)), starts)
    return np.clip(chosen, within.low, within.high)


def _lower(count: int, rng: Any, within: Range) -> Array:
    """One number for each row, that has a next one if any has: anywhere, small, where a sum is exact, or nearly the
    largest, beside which a spread of one is least."""
    most = max(within.high, within.low + 1)
    away = ((most - within.low) ** rng.random((count, 1))).astype(np.int64)
    kinds = [rng.integers(within.low, most, (count, 1)), within.low + away - 1, most - away]
    return cast(Any, np).choose(rng.permutation(np.arange(count) + int(rng.integers(3)))[:, None] % 3, kinds)


def _edges(rows: Array, rng: Any, within: Range) -> Array:
    return rng.choice(near_edges(within), rows.shape)


def near_edges(within: Range) -> list[int]:
    """Where something begins and ends, as lengths, indices and counts may: the ends of the range, the first chunk of
    each power of two of tiles from the largest on, quarters, marks; what is next to these; every tile and its half.
    """
    low, high, marks, _ = within
    tiles = max(0, high) // places.TILE + 1
    chunks = [places.TILE << power for power in reversed(range(tiles.bit_length()))]
    quarters = [(high + 1) * part // 4 for part in range(1, 4)] if high >= 4 * places.TILE else []
    chunks += [high + 1 - (high + 1) % chunk for chunk in chunks if chunk <= high]
    rounds = [n for mark in marks if mark >= FEWEST_ROUND for n in (mark * 2, mark * 3, high - high % mark)]
    begun = places.TILE * np.unique(np.linspace(0, tiles, min(tiles + 1, MOST)).astype(np.int64))
    near = [low, high, *chunks, *quarters, *marks]
    near += [at + step for at in (*chunks, *marks, *quarters, *rounds) for step in (-1, 1, 0)]
    near += sorted({int(n) for n in (*places.edges(max(0, high + 1), 0), *(begun - 1), *begun, *(begun + 1))})
    near += (begun + places.TILE // 2).tolist()
    return [n for n in dict.fromkeys(near) if low <= n <= high]


def edges(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """All of an input at edges, a few of them more than once; the next case (``turn``) goes on with them."""
    near = np.array(near_edges(within))
    return rng.permutation(near[(turn * own.size + np.arange(own.size)) % len(near)]).reshape(own.shape)


def beside(own: Array, other: Array, within: Range, turn: int) -> Array:
    """Another integer's numbers and a mark more, or fewer, or what is left of it: sums and differences at marks.

    Each element takes another mark and the next ones to it; the next case (``turn``) goes on with them. What would lie
    outside of the range stays as it was drawn.
    """
    laid = np.resize(other, own.shape).reshape(-1)
    taken: Array = cast(Any, np).arange(turn * own.size, (turn + 1) * own.size)
    steps = _PAIRED[taken % len(_PAIRED)]
    marks = np.array((*within.apart, 0, within.high))
    at = marks[taken // len(_PAIRED) % len(marks)] + steps[:, 1]
    met = np.where(steps[:, 0] == 0, at - laid, laid + steps[:, 0] * at)
    fits = (met >= within.low) & (met <= within.high)
    return np.where(fits, met, own.reshape(-1)).reshape(own.shape)


def pairings(within: Range, size: int) -> int:
    """Cases until an input of this size was beside another one by each mark."""
    return -(-len(_PAIRED) * (len(within.apart) + 2) // max(1, size))


def mingled(own: Array, rng: Any, within: Range) -> Array:
    """Rows, or a vector's elements, as they were drawn, at edges, all of the smallest number or all of the largest.

    For cases in which floats stand out: what lies at the end of a prefix of full length, or is all that there is.
    """
    rows = own.reshape(-1, own.shape[-1]) if own.ndim > 1 else own.reshape(-1, 1)
    kinds = rng.permutation(np.arange(len(rows)) + int(rng.integers(4))) % 4
    values: Array = cast(Any, np).where((kinds == 1)[:, None], _edges(rows, rng, within), rows)
    values[kinds == 2], values[kinds == 3] = within.low, within.high
    return values.reshape(own.shape)


def framed(own: Array, within: Range) -> Array:
    """Rows with the smallest number at their first place alone and the largest at their last; rows of one: that."""
    low, high = within.low, within.high
    values: Array = np.clip(own, low + 1, high - 1)
    if own.ndim > 1 and own.shape[-1] > 1:
        values[..., 0], values[..., -1] = low, high
        return values
    return np.full_like(own, high)


FEW, ALPHABET, FAVOURED, FOREMOST = 6, 8, 2, 16
"""Cases of rows of few numbers; the most that one has; how much likelier a mark is than an end; and of how many marks
half of the rows have theirs, for what is compared and named comes before the rounds of lengths."""
AGAIN, REPEATED = 5, (1, 2, 3, 4, 6, 8)
"""Cases of rows that say one thing throughout, the last of them of columns; and of how many neighbours that is."""
ARRANGED = 3
"""Cases of own draws in another order."""
SHORT = 8
"""Places of a row."""
MULTIPLES, INTERRUPTED = 3, 3
"""Cases of multiples, and of what rises before and behind a stretch of something else."""
LEAST_LEFT = 1 / 32
"""Of a half of a row, what such a stretch leaves of it at least; that is drawn on a log scale."""
STRETCH = 64
TILE, TILED = 128, 6
"""Rows, and cases: a stretch of few numbers at the low end of a range, at its high one, anywhere, and of many."""
_PAIRED = np.array([(sign, step) for step in (0, 1, -1) for sign in (1, 0, -1)])
"""Whether a mark is added, taken away, or the sum; and how far beside it."""


def _mostly_at(edges: list[int], length: int, count: int, rng: Any) -> Array:
    """Positions below a length, half of them at edges."""
    anywhere: Array = rng.integers(0, length, count)
    return cast(Any, np).where(rng.random(count) < 0.5, rng.choice(edges, count), anywhere)


REGIMES: tuple[Regime, ...] = (
    _lowest, _highest, _same, _lone, _padded, _sorted, _edges, _own, _uneven, step, neighbours, _counted, _scaled,
)  # fmt: skip


def bands(own: Array, rng: Any, within: Range, turned: bool, turn: int) -> Array:
    """Every regime in a band of rows of its own, or of columns (``turned``); a vector is one row.

    Where there are fewer bands than regimes, the next case (``turn``) goes on with the regimes.
    """
    rows = _rows(own, turned)
    size, count = regimes.banded(len(rows), len(REGIMES))
    kinds = rng.permutation(np.arange(count) + turn * count) % len(REGIMES)
    values = np.empty_like(rows)
    for band, kind in enumerate(kinds):
        part = slice(band * size, (band + 1) * size)
        values[part] = REGIMES[kind](rows[part], rng, within)
    return _put_back(values, own, turned)


def tiles(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Every 128-row tile from a stretch of the range: its low end, its high one, or anywhere, of few numbers or many.

    Dark pictures, small counts: a row's or a column's regime makes no tile of them.
    """
    rows, most = _rows(own, False), within.high - within.low
    values = np.array(rows)
    for place, start in enumerate(range(0, len(rows), TILE)):
        many, where = divmod((turn + place) % TILED, 3)
        span = int((most + 1) ** ((many + rng.random()) / 2)) - 1
        low = within.low + (0, most - span, int((most - span) * rng.random()))[where]
        part = slice(start, start + TILE)
        values[part] = rng.integers(low, low + span + 1, rows[part].shape)
    return values.reshape(own.shape)


def few(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Rows, or columns, of two to eight numbers each: marks, ends and what the row has, by lot or in runs.

    Of texts: escapes in a row before a quote, brackets within brackets. Half of the rows keep half of what they have.
    """
    rows = _rows(_stretched(own), turn % 2 == 1)
    count, length = rows.shape
    ends = [within.low, within.high]
    known, first = (np.array([*ends, *marks * FAVOURED]) for marks in (within.marks, within.marks[:FOREMOST]))
    ours, others = (rng.choice(among, (count, ALPHABET)) for among in (first, known))
    asked: Array = cast(Any, np).where(rng.random((count, 1)) < 0.5, ours, others)
    drawn = np.take_along_axis(rows, rng.integers(0, length, (count, ALPHABET)), -1)
    letters: Array = np.where(rng.random(drawn.shape) < 0.75, asked, drawn)
    sizes: Array = rng.integers(2, ALPHABET + 1, (count, 1))
    places: Array = rng.integers(0, sizes, rows.shape)
    values: Array = np.take_along_axis(letters, _in_runs(places, rng), -1)
    kinds: Array = rng.permutation(np.arange(count))[:, None] % 2
    own_again: Array = (kinds == 1) & (rng.random(rows.shape) < 0.5)
    values = np.clip(cast(Any, np).where(own_again, rows, values), within.low, within.high)
    return _put_back(values, own, turn % 2 == 1)


def again(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """A few neighbours of each row, or column, again and again, as where a text says one thing throughout; in half of
    them behind what was drawn, up to some place, or before it: a state that a stretch forgets is held by these."""
    turned = turn % AGAIN == AGAIN - 1
    rows = _rows(_stretched(own), turned)
    count, length = rows.shape
    sizes: Array = rng.choice(REPEATED, (count, 1))
    begins: Array = rng.integers(0, length, (count, 1))
    columns: Array = cast(Any, np).arange(length)
    values = np.take_along_axis(rows, (begins + columns % sizes) % length, -1)
    ends: Array = rng.integers(0, length, (count, 1))
    drawn: Array = np.logical_xor(columns < ends, rng.random((count, 1)) < 0.25) & (rng.random((count, 1)) < 0.5)
    values = cast(Any, np).where(drawn, rows, values)
    return _put_back(values, own, turned)


def arranged(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Own draws in orders, in two parts, and, in columns, in orders again: what sorts them in few turns leaves some."""
    turned = turn % ARRANGED == ARRANGED - 1
    rows = orders.of_rows(_rows(own, turned), rng, 0 if turned else turn % ARRANGED)
    return _put_back(np.clip(rows, within.low, within.high), own, turned)


def multiples(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Multiples of one number throughout a row, or a stretch, and what is next to them: of a mark in three rows of
    four, else of a power of two or of ten. Where the range has none of any, rows stay as they were drawn."""
    rows, (low, high, marks, _) = _rows(_stretched(own), False), within
    most = max(abs(low), abs(high))
    named = [n for n in marks if n >= FEWEST_ROUND]
    rounds = [base**power for base in (2, 10) for power in range(1, 63) if base**power <= most]
    named, rounds = ([n for n in some if -(-low // n) <= high // n] for some in (named, rounds))
    if not named and not rounds:
        return own
    order: Array = rng.permutation(np.arange(len(rows)) + turn)[:, None]
    ours: Array = np.resize(np.array(named or rounds), len(rows) + turn + 1)[order]
    one: Any = cast(Any, np).where(order % 4 > 0, ours, rng.choice(rounds or named, order.shape))
    times = rng.integers(-(-low // one), high // one + 1, rows.shape)
    values = np.clip(times * one + rng.choice([-1, 0, 0, 1], rows.shape), low, high)
    return _put_back(values, own, False)


def interrupted(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Rows, or columns, that rise from one end of the range to the other, but for a long stretch, half to nearly all of
    them, that is at one end, or falls; behind it they go on: as a series has an outage."""
    turned = turn % 2 == 1
    rows = _rows(_stretched(own), turned)
    count, length = rows.shape
    places: Array = cast(Any, np).arange(length)
    outage: Array = (length * (1 - 0.5 * LEAST_LEFT ** rng.random((count, 1)))).astype(np.int64)
    begins: Array = (rng.random((count, 1)) * (length - outage + 1)).astype(np.int64)
    behind = places - np.where(places >= begins, np.minimum(outage, places - begins), 0)
    span, left = within.high - within.low, np.maximum(length - outage, 1)
    rising = within.low + span * (behind + 1) // (left + 1)
    falling = within.high - span * places // max(1, length - 1)
    fillers: list[Array] = [np.full_like(rows, within.low), np.full_like(rows, within.high), rows * 0 + falling]
    filler: Array = cast(Any, np).choose(rng.integers(0, 3, (count, 1)), fillers)
    within_outage = (places >= begins) & (places < begins + outage)
    values: Array = cast(Any, np).where(within_outage, filler, rising)
    opposite: Array = rng.permutation(np.arange(count))[:, None] % 2 == 1
    return _put_back(np.where(opposite, within.low + within.high - values, values), own, turned)


def as_series(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Rows, or in the last case columns, that only rise, only fall, or bend one way from some place on."""
    turned = turn % series.CASES == series.CASES - 1
    return _put_back(series.of_rows(_rows(_stretched(own), turned), rng, within.low, within.high), own, turned)


def silent(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Rows that are zero for long, or the end of the range that is nearer to it; in every second case columns are."""
    nothing, turned = min(max(0, within.low), within.high), turn % 2 == 1
    return _put_back(silences.of_rows(_rows(_stretched(own), turned), rng, nothing), own, turned)


def echoed(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Rows that say a phrase again right behind it; in every second case columns do."""
    turned = turn % 2 == 1
    return _put_back(echoes.of_rows(_rows(_stretched(own), turned), rng, within.low, within.high), own, turned)


def as_mirrored(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Rows one half of which is the other one again, mirrored or moved; in every second case columns are."""
    turned, (low, high, _, steps) = turn % 2 == 1, within
    return _put_back(mirrored.of_rows(_rows(_stretched(own), turned), rng, low, high, steps), own, turned)


def lines(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Rows of one number but for a few places on a line; of the numbers that the problem names, and the ends. In every
    fourth case columns are."""
    turned = turn % 4 == 3
    rows = _rows(_stretched(own), turned)
    return _put_back(sparse_lines.of_rows(rows, rng, named(within), _ends(within)), own, turned)


def named(within: Range) -> list[int]:
    """The ends of a range, zero or what is next to it, and marks."""
    return sorted({*_ends(within), *(mark for mark in within.marks if within.low <= mark <= within.high)})


def _ends(within: Range) -> list[int]:
    return sorted({within.low, within.high, min(max(0, within.low), within.high)})


def as_waves(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Rows as signals are, about the middle of what was drawn, rounded; beyond the range they end."""
    rows = _rows(_stretched(own), False)
    middle, spread = float(rows.mean()), float(rows.std())
    found = waves.of_rows((rows - middle).astype(np.float64), rng, 1.0, spread / 2, turn)
    return _put_back(np.clip(np.rint(found + middle), within.low, within.high), own, False)


def _in_runs(places: Array, rng: Any) -> Array:
    """In every other row each as the one before it, as often as not or more often."""
    count, length = places.shape
    again: Array = rng.random((count, length)) < rng.uniform(0.3, 0.9, (count, 1)) * (rng.random((count, 1)) < 0.5)
    begun = np.where(again, 0, cast(Any, np).arange(length))
    return np.take_along_axis(places, np.maximum.accumulate(begun, axis=-1), -1)


def _stretched(own: Array) -> Array:
    """A long vector in stretches, each of which is a row."""
    return own.reshape(-1, STRETCH) if own.ndim == 1 and own.size > STRETCH and own.size % STRETCH == 0 else own


def throughout(own: Array, axes: Sequence[int], rng: Any, within: Range, turn: int) -> Array:
    """Every regime in what one output gathers over these axes."""
    groups = planes.laid_out(own, axes)
    return planes.put_back(bands(groups, rng, within, False, turn), own, axes)


def nearly(own: Array, other: Array, rng: Any, within: Range) -> Array:
    """Another input's numbers, but for one in ten, or in thousands, which is the next one, up or down; in every other
    row, or in few short ones, but for a single one, which has another bit, as a small letter is a capital."""
    rows: Array = np.array(other.reshape(-1, other.shape[-1] if other.ndim else 1))
    steps = rng.choice([-1, 1], rows.shape) * (rng.random(rows.shape) < 10.0 ** rng.uniform(-3.5, -1))
    turned: Array = rng.permutation(np.arange(len(rows)))[:: max(2, 2 * SHORT // rows.shape[1])]
    columns: Array = rng.integers(0, rows.shape[1], len(turned))
    steps[turned] = 0
    rows[turned, columns] ^= 1 << rng.integers(0, width_in_bits(within.low, within.high), len(turned))
    return np.clip(rows + steps, within.low, within.high).reshape(own.shape)


def width_in_bits(low: int, high: int) -> int:
    """How many an integer of that range has."""
    return max(1, int(low).bit_length(), int(high).bit_length())


def summed(own: Array, other: Array, rng: Any, within: Range) -> Array:
    """What it takes for sums with another input's numbers to be one number throughout a row, its largest for instance,
    or the one beyond: so carries go far. In two of three rows few places are as they were drawn."""
    rows, others = (array.reshape(-1, own.shape[-1] if own.ndim else 1) for array in (own, other))
    count, length = rows.shape
    totals: Array = rng.choice([within.high, within.high + 1, within.low + within.high], (count, 1))
    met = totals - others
    kept: Array = rng.random(rows.shape) < rng.choice([0.0, 1 / length, 2 / length], (count, 1))
    fits = (met >= within.low) & (met <= within.high) & ~kept
    values: Array = cast(Any, np).where(fits, met, rows)
    return values.reshape(own.shape)


def shifted(own: Array, other: Array, rng: Any, within: Range) -> Array:
    """Another input's numbers, in each row by so many places farther on, or before: as where something was
    put in or left out; in half of the rows from some place on. What has no such place stays as it was drawn."""
    rows, others = (array.reshape(-1, own.shape[-1]) for array in (own, other))
    length = rows.shape[-1]
    columns: Array = cast(Any, np).arange(length)
    moved = rng.integers(-(length // 2), length // 2 + 1, (len(rows), 1))
    begins = rng.integers(0, length, (len(rows), 1)) * (rng.random((len(rows), 1)) < 0.5)
    places: Array = columns - np.where(columns < begins, 0, moved)
    fits = (places >= 0) & (places < length)
    met = np.take_along_axis(others, places.clip(0, length - 1), -1).clip(within.low, within.high)
    return np.where(fits, met, rows).reshape(own.shape)


def joined(own: Array, shared: Any, within: Range, first: bool) -> Array:
    """The end of one input's rows is the beginning of the other's (``first`` or not), however short; before and behind
    it each has a number of its own. ``shared`` draws alike for both.
    """
    length = own.shape[-1]
    rows = own.reshape(-1, length)
    one, other = shared.permutation([within.low, within.high])
    tokens: Array = shared.integers(min(within.low + 1, within.high), max(within.high, within.low + 2), rows.shape)
    common: Array = shared.integers(1, max(2, length), (len(rows), 1))
    ahead = (shared.random((len(rows), 1)) < 0.5) == first
    places: Array = cast(Any, np).arange(length) - np.where(ahead, length - common, 0)
    held = (places >= 0) & (places < common)
    met = np.take_along_axis(tokens, places.clip(0, length - 1), -1)
    return np.where(held, met, one if first else other).clip(within.low, within.high).reshape(own.shape)


def level(own: Array, other: Array, rng: Any, within: Range) -> Array:
    """Rows of what spreads over them, a zero point for instance, which dequantised are nothing: all of a row, all but
    one place, and all up to the next number; others stay as they were drawn. ``other`` has the shape of ``own``.
    """
    rows = own.reshape(-1, own.shape[-1] if own.ndim else 1)
    kinds = rng.permutation(np.arange(len(rows)) + int(rng.integers(4)))[:, None] % 4
    steps: Array = rng.choice([-1, 0, 1], rows.shape)
    lone: Array = cast(Any, np).arange(rows.shape[1]) == rng.integers(rows.shape[1], size=(len(rows), 1))
    steps = np.where(kinds == 2, steps, np.where((kinds == 1) & lone, rng.choice([-1, 1], (len(rows), 1)), 0))
    met = np.clip(np.rint(other).reshape(rows.shape) + steps, within.low, within.high)
    values: Array = cast(Any, np).where(kinds == 3, rows, met).astype(own.dtype)
    return values.reshape(own.shape)


def turns(shape: Sequence[int], turned: bool) -> int:
    """Cases until an input of this shape had each regime."""
    rows = len(_rows(np.broadcast_to(np.int64(0), tuple(shape)), turned))
    return -(-len(REGIMES) // max(1, regimes.banded(rows, len(REGIMES))[1]))


def _rows(own: Array, turned: bool) -> Array:
    """[rows, width]; turned, an array's columns."""
    if own.ndim < 2:
        return own.reshape(1, -1)
    return own.reshape(-1, own.shape[-1]).T if turned else own.reshape(-1, own.shape[-1])


def _put_back(rows: Array, own: Array, turned: bool) -> Array:
    """Those rows, or columns, as the array that they are of."""
    return (rows.T if turned and own.ndim > 1 else rows).reshape(own.shape)
