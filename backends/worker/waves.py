"""Rows as signals are: periodic, smooth, or something else from some place on.

What looks for periods, dips, crossings or a state that is held meets none of these in independent draws.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker.region import Region

Array = Any
HARMONICS = 4
"""Of a period, at most."""
SHORTEST, LONGEST = 2.0, 2.0
"""Elements of a period; and lengths of its row."""
CASES, FEWEST = 2, 8
"""Cases; and rows that all of them have together at least."""
NOISE = (-5.0, -0.5)
"""Powers of ten of what is left of the own draw beside a wave."""
SMOOTH = (0.5, 2.0)
"""Powers of ten of how many elements a smooth row changes in."""


def of_rows(rows: Array, rng: Any, scale: float, sigma: float, turn: int) -> Array:
    """Each row [rows, width] of another kind; the next case (``turn``) goes on with them."""
    kinds: Array = (cast(Any, np).arange(len(rows)) + turn * len(rows) + int(turn == 0) * rng.integers(4)) % len(KINDS)
    values: Array = np.array(rows)
    for number, kind in enumerate(KINDS):
        values[kinds == number] = kind(Region(rows[kinds == number], rng, scale, sigma))
    return values


def turns(rows: int) -> int:
    """Cases that it takes."""
    return max(CASES, -(-FEWEST // max(1, rows)))


def periodic(r: Region) -> Array:
    """A period with some of its harmonics, a little noise, now and then an offset, or a rise or fall of strength."""
    return _wave(r) + _offset(r)


def wrapped(r: Region) -> Array:
    """Sawteeth between the ends of what was drawn, as phases are: of any slope, up and down."""
    count, length = r.own.shape
    place = cast(Any, np).arange(length)
    steps = r.signs() * 2.0 ** r.rng.uniform(-np.log2(2 * length), 0, (count, 1)) / 2
    phases = steps * place + r.rng.random((count, 1)) + r.own * 10.0 ** r.rng.uniform(*NOISE, (count, 1)) / 8
    return np.abs(r.own).max(axis=-1, keepdims=True, initial=0.0) * (2 * (phases % 1.0) - 1)


def smooth(r: Region) -> Array:
    """Each element near the one before it: a walk, or a mean of what was drawn around it."""
    count, length = r.own.shape
    steps = r.powers(*SMOOTH)
    kept: Array = np.exp(-1 / steps)
    values, state = np.empty(r.own.shape), np.zeros(count)
    for place in range(length):
        state = kept[:, 0] * state + np.sqrt(1 - kept[:, 0] ** 2) * r.own[:, place]
        values[:, place] = state
    walks: Array = r.rng.random((count, 1)) < 0.3
    return cast(Any, np).where(walks, np.cumsum(r.own, axis=-1) / np.sqrt(length), values) + _offset(r)


def later(r: Region) -> Array:
    """As drawn up to some place, one element far out, and from there on a wave, a smooth row or one value."""
    count, length = r.own.shape
    begun: Array = (length * r.rng.random((count, 1)) ** 2).astype(np.int64)
    place = cast(Any, np).arange(length)
    kinds: Array = r.rng.integers(0, 3, (count, 1))
    flat = r.own[:, :1] * r.rng.uniform(0, 1, (count, 1)) + r.own * 10.0 ** r.rng.uniform(*NOISE, (count, 1))
    rest = np.choose(kinds, [_wave(r), smooth(r), flat])
    values = cast(Any, np).where(place < begun, r.own, rest)
    out: Array = r.rng.random((count, 1)) < 0.7
    jump: Array = r.signs() * r.sigma * r.powers(0.3, 1.5)
    return cast(Any, np).where(out & (place == begun - 1), jump, values)


def _wave(r: Region) -> Array:
    """[rows, width], of the strength of what was drawn or another."""
    count, length = r.own.shape
    place = cast(Any, np).arange(length)
    most = max(LONGEST * length / SHORTEST, 1.0)
    turns = 2 * np.pi * place / (SHORTEST * most ** r.rng.random((count, 1)))
    values = np.zeros(r.own.shape)
    for harmonic in range(1, HARMONICS + 1):
        strength: Array = r.rng.random((count, 1)) * (r.rng.random((count, 1)) < 0.4) / harmonic
        values += (1.0 if harmonic == 1 else strength) * np.sin(harmonic * turns + r.rng.uniform(0, 6.3, (count, 1)))
    slope = r.rng.uniform(-2, 2, (count, 1)) * (r.rng.random((count, 1)) < 0.3)
    values *= np.exp(slope * place / length)
    return r.sigma * r.powers(-1, 1) * values + r.own * 10.0 ** r.rng.uniform(*NOISE, (count, 1))


def _offset(r: Region) -> Array:
    return r.sigma * r.signs() * r.powers(-1, 1) * (r.rng.random((len(r.own), 1)) < 0.4)


KINDS = (periodic, smooth, wrapped, later)
