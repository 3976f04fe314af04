"""Cases in which each input is of any kind, whatever kind the others are: what only shows where several meet.

What one output gathers of an input, or else its rows or columns, are groups. All are of one kind, or each is of one
of its own: then one case brings every kind of an input together with what the others are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import companions, planes, regimes, throughout, waves
from nki_anvil.backends.worker.whole_numbers import Range

Array = Any
Kind = Callable[[Array], Array]


def _far(r: regimes.Region) -> Array:
    """All of it far to one side of zero, at least as far as its row says."""
    return r.signs() * r.sigma * r.powers(*FAR) * (1 + np.abs(r.own) * r.powers(-3, 0))


def _to_one_side(r: regimes.Region) -> Array:
    return throughout.sided(r.own, (1,), r.rng, r.scale, int(r.rng.integers(2)))


FAR = (0.0, 10.0)
"""Powers of ten."""
KINDS: tuple[regimes.Regime, ...] = (
    *regimes.REGIMES, *regimes.PATTERNS, *planes.REGIMES, *waves.KINDS, _to_one_side, _to_one_side, _far, _far, _far,
)  # fmt: skip
"""Those of rows and patterns, of which several are in one input elsewhere as well, and those of whole planes."""
OTHERWISE = 0.3
"""How often columns are the groups of an input of which an output gathers rows."""
AS_DRAWN = 0.1
"""How often an input, or a part of it, is left alone."""
SIGNED = 0.3
"""How often all numbers of an input's kind are made of one sign, and how often they are made larger or smaller."""
SIZES = (-6.0, 10.0)
"""Powers of ten by how much."""
LARGEST = 3e11
"""Products of three such, and sums of those, are numbers, in whatever order somebody multiplies them."""
PACKED = 0.5
"""How often an input is several that are packed into one, each with kinds of its own."""
ALONG_ROWS, IN_TURN = 0.7, 0.2
"""How often those are parts of rows, and how often their elements take turns."""


def of_floats(own: Array, axes: Sequence[int], rng: Any, scale: float, sigma: float) -> Array:
    """An input of floats [...], float32; ``axes`` are those along which one output gathers it, where that is known."""

    def bent(kind: regimes.Regime) -> Kind:
        return lambda rows: _sized(kind(regimes.Region(rows, rng, scale, sigma)), rng, scale)

    return _in_parts(own.astype(np.float64), axes, rng, [bent(kind) for kind in KINDS]).astype(np.float32)


def of_integers(own: Array, axes: Sequence[int], rng: Any, within: Range) -> Array:
    """An input of integers [...] in that range."""

    def bent(kind: Callable[[Array, Any, Range], Array]) -> Kind:
        return lambda rows: kind(rows, rng, within)

    return _in_parts(own, axes, rng, [bent(kind) for kind in companions.KINDS])


def _sized(rows: Array, rng: Any, scale: float) -> Array:
    """As they are, or all of one sign, or of another size, or both."""
    if rng.random() < SIGNED:
        rows = np.abs(rows) * rng.choice([-1.0, 1.0])
    if rng.random() < SIGNED:
        rows = rows * 10.0 ** (scale * rng.uniform(*SIZES))
    largest = np.abs(rows).max(axis=-1, keepdims=True, initial=LARGEST)
    return rows * (LARGEST / largest)


def _in_parts(own: Array, axes: Sequence[int], rng: Any, kinds: Sequence[Kind]) -> Array:
    """The input as one, or cut along an axis into two to four parts."""
    cut = [axis for axis, length in enumerate(own.shape) if length > 1]
    if not cut or rng.random() >= PACKED:
        return _of_kinds(own, axes, rng, kinds)
    axis = cut[-1] if rng.random() < ALONG_ROWS else int(rng.choice(cut))
    length = own.shape[axis]
    parts = min(int(rng.integers(2, 5)), length)
    number = cast(Any, np).arange(length)
    place: Any = number % parts if rng.random() < IN_TURN else number * parts // length
    values: Array = np.array(own)
    for part in range(parts):
        chosen: Any = (*[slice(None)] * axis, place == part)
        values[chosen] = _of_kinds(own[chosen], axes, rng, kinds)
    return values


def _of_kinds(own: Array, axes: Sequence[int], rng: Any, kinds: Sequence[Kind]) -> Array:
    if not own.ndim or rng.random() < AS_DRAWN:
        return own
    along = _along(own, axes, rng)
    groups = planes.laid_out(own, along)
    number = np.full(len(groups), rng.integers(len(kinds)))
    if rng.random() < 0.5:
        number = rng.permutation(np.arange(len(groups)) + number) % len(kinds)
    values: Array = np.array(groups)
    for kind in np.unique(number):
        values[number == kind] = kinds[kind](groups[number == kind])
    return planes.put_back(values, own, along)


def _along(own: Array, axes: Sequence[int], rng: Any) -> Sequence[int]:
    """The axes of a group; a vector is one."""
    known = planes.along(own, axes)
    if len(known) > 1 or own.ndim < 2 or rng.random() >= OTHERWISE:
        return known
    return (own.ndim - 2 if known[0] == own.ndim - 1 else own.ndim - 1,)
