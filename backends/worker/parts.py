"""Rows whose elements meet one another: several inputs packed into one, halves that gate each other, neighbours.

Differences and products of such are of nearly one value, or far to one side, only where each part has its own height.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker.region import Region

Array = Any
MOST = 4
"""Parts of a row."""
BEYOND, FAR, FARTHEST = (4.4, 6.0), 11.0, 18.0
"""Powers of ten from which on products are beyond what masks are written as; up to which products of three, and sums of
those, are numbers; and up to which those of two are, of an input that has no others beside it."""
GROWN, RATES = 20.0, (0.001, 0.2)
"""Powers of e from a row's middle to either end at most; by how many each element is beyond the one before it."""


def ramp(r: Region) -> Array:
    """Nearly the same step from each element to the next, or, in half of the rows, steps that grow by the same: so
    differences of neighbours, and of those, are of nearly one value."""
    length = r.own.shape[-1]
    places = cast(Any, np).arange(length) - length // 2
    curved: Any = r.rng.random((len(r.own), 1)) < 0.5
    steps = r.sigma * r.signs() * r.powers(-1, 4)
    reached: Array = cast(Any, np).where(curved, places**2 / 2, places)
    return steps * (reached + r.own / r.sigma * r.powers(-4, -2.5))


def growth(r: Region) -> Array:
    """Each element is nearly the same multiple of the one before it, as of what grows or decays at a rate: so are
    quotients of neighbours, and differences of them beside what they are of."""
    length = r.own.shape[-1]
    places = cast(Any, np).arange(length) - length // 2
    most = np.minimum(GROWN / max(1, length // 2), r.rng.uniform(*RATES, (len(r.own), 1)))
    rates = r.scale * most * r.signs()
    steady: Array = 1 + r.own / r.sigma * r.powers(-4, -1.5) * rates
    return r.sigma * r.signs() * np.exp(places * rates) * steady


def level(r: Region) -> Array:
    """Each part is nearly one value of its own, as are sums and differences of those."""
    return _parted(r, 2 * r.rng.random((len(r.own), MOST))) * (1 + r.own * r.powers(-4, -1))


def far(r: Region) -> Array:
    """Parts as far to either side of zero as one another: so are products and differences of them."""
    beyond = r.rng.random((len(r.own), 1)) < 0.5
    powers = cast(Any, np).where(
        beyond, r.rng.uniform(*BEYOND, beyond.shape), r.rng.uniform(0, BEYOND[0], beyond.shape)
    )
    farthest: Any = r.rng.random((len(r.own), 1)) < 0.3
    powers = cast(Any, np).where(farthest, r.rng.uniform(BEYOND[1], FARTHEST if r.reach else FAR, beyond.shape), powers)
    powers = powers + r.rng.random((len(r.own), MOST)) / 2
    return _parted(r, powers) * (1 + np.abs(r.own) / 8)


def faint(r: Region) -> Array:
    """One part is all but nothing beside the others: so is its norm, while theirs is not."""
    count = r.rng.choice([2, 2, 3, 4], (len(r.own), 1))
    chosen: Array = _places(r, count) == np.floor(count * r.rng.random((len(r.own), 1)))
    return r.own * cast(Any, np).where(chosen, 1 / r.powers(7, 14), r.powers(-1, 2))


def _parted(r: Region, powers: Array) -> Array:
    """Rows in two parts, three or four, each of one height: ten to the ``powers`` [rows, 4], above zero or below.

    One after the other, or in turn, one element of each or a few.
    """
    place = _places(r, r.rng.choice([2, 2, 3, 4], (len(r.own), 1)))
    signs = r.rng.choice([-1.0, 1.0], (len(r.own), MOST))
    values: Array = np.take_along_axis(r.sigma * signs * 10.0 ** (r.scale * powers), place, axis=-1)
    return values


def _places(r: Region, count: Array) -> Array:
    """To which of ``count`` [rows, 1] parts of its row each element belongs."""
    number = cast(Any, np).arange(r.own.shape[-1])
    runs = r.rng.choice([1, 1, 1, 2, 3, 4, 8], (len(r.own), 1))
    in_turn: Array = r.rng.random((len(r.own), 1)) < 0.5
    return cast(Any, np).where(in_turn, number // runs % count, number * count // r.own.shape[-1])
