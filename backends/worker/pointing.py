"""The family of elements that something names: an integer of each row, the row's own number, a label that is a float.

A loss takes one element of a row out: most of what a formula loses there shows where that one stands above the rest.
"""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np

Array = Any

NAMED = (1.1, 1.5)
"""Powers of ten of how far what is named stands above the rest: exponentials of it are numbers, of what is left of one
as well."""
LIFTED, CLEAR = (2.3, 3.2), (6.0, 8.0)
"""Powers of ten of how far all of a row lies on one side of zero, and how far what is named then stands above the
rest, and above the logarithm of how many they are: so little is left of a loss, e^-6 to e^-8, that the last bit of the
row's height is not little beside it, and the last bit of one is."""
KINDS = 3
"""What is named stands above the rest, below it, and above it in rows that lie far from zero."""
CERTAIN, CERTAINLY = (8.0, 22.0), 3.0
"""How far logits lie on the side that labels of floats say, throughout, and how much farther some rows do."""
SURE = 4
"""Turns of that: labels as they fall, all one, all zero, and as they fall while logits say the reverse."""
AGREED = ((1.0, 1.9), (2.0, 4.0), (4.0, 7.0), (0.6, 1.0))
FEW = ((-2.0, -1.0), (-2.0, -1.0), (-2.0, -1.0), (-4.0, -3.0))
"""Powers of ten of how far elements lie on the side that a label says, and of how many do not, in each turn."""


def named(own: Array, places: Array, rng: Any, turn: int) -> Array:
    """Rows in which the element that an integer names stands apart from the rest; in later turns the next row's.

    Where there is an integer for each element, all but few elements lie as far on the side that it says.
    """
    if places.shape == own.shape:
        return _agreed(own, places, rng, turn)
    later, kind = divmod(turn, KINDS)
    return _apart(own, _columns(own.shape, places, later), rng, kind)


def diagonal(own: Array, rng: Any, turn: int) -> Array:
    """The same where row i names column i, as of pairs that are all compared; in later turns half as many on."""
    length, (later, kind) = own.shape[-1], divmod(turn, KINDS)
    return _apart(own, (np.arange(length) + later * (length // 2)) % length, rng, kind)


def _columns(shape: tuple[int, ...], places: Array, later: int) -> Array:
    """What is named in each row, where a sequence has as many integers as rows, or one more."""
    sequences, length = prod(shape[:-2]), shape[-2]
    table = places.reshape(sequences if places.size % sequences == 0 else 1, -1)
    return table[:, (np.arange(length) + later) % table.shape[1]]


def _apart(own: Array, places: Array, rng: Any, kind: int) -> Array:
    rows: Array = own.astype(np.float64).reshape(-1, own.shape[-1])
    each = np.arange(len(rows))
    at = each, np.clip(np.resize(places, len(rows)).astype(np.int64), 0, own.shape[-1] - 1)
    if kind == KINDS - 1:
        rows /= 8
        rows[at] = rng.uniform(*CLEAR) + np.log(own.shape[-1])
        rows += (rng.choice([-1.0, 1.0], len(rows)) * 10.0 ** rng.uniform(*LIFTED, len(rows)))[:, None]
    else:
        rows[at] = 10.0 ** rng.uniform(*NAMED) * (-1.0 if kind else 1.0) + rows[at] / 8
    return rows.astype(np.float32).reshape(own.shape)


def _agreed(own: Array, sides: Array, rng: Any, turn: int) -> Array:
    side: Array = np.where(sides == sides.max(), 1.0, np.where(sides == sides.min(), -1.0, 0.0))
    as_drawn: Array = (rng.random(own.shape) < 10.0 ** rng.uniform(*FEW[turn % len(FEW)])) | (side == 0)
    far = side * 10.0 ** rng.uniform(*AGREED[turn % len(AGREED)]) * (1 + own / 64)
    values: Array = cast(Any, np).where(as_drawn, own, far)
    return values.astype(np.float32)


def labels(own: Array, turn: int) -> Array:
    """Floats that are zero or one: as an own draw falls about its middle, all one, or all zero."""
    kind = turn % SURE
    return (own > np.median(own) if kind in (0, 3) else np.full(own.shape, kind == 1)).astype(np.float32)


def certain(own: Array, sides: Array, rng: Any, turn: int) -> Array:
    """Logits that lie far on the side which such labels say, or on the other, each of them: no loss hides another."""
    rows = own.shape[:-1] if own.ndim > 1 else ()
    heights = rng.uniform(*CERTAIN) + rng.uniform(0, CERTAINLY, (*rows, 1))
    signs = np.where(sides > 0, 1.0, -1.0) * (-1.0 if turn % SURE == SURE - 1 else 1.0)
    return (signs * heights * (1 + rng.uniform(-1, 1, own.shape) / 64)).astype(np.float32)
