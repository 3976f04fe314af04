"""One sequence as another has it, but for stretches that were left out, put in, exchanged, moved or turned about.

Drafts, translations, genes and edits of a text are like that. Two that differ in single places, or by a shift, leave
out what stands beside each other: something taken away where something else was put in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

Array = Any
DISTINCT = 256
"""Rows that are edited each in a way of its own."""
EDITS = 3
"""In a row, at most."""
ALIKE = 0.3
"""How often what is put in is one number throughout."""


def _left_out(kept: Array, new: Array, at: int, length: int) -> Array:
    return np.concatenate([kept[:at], kept[at + length :]])


def _put_in(kept: Array, new: Array, at: int, length: int) -> Array:
    return np.concatenate([kept[:at], new[:length], kept[at:]])


def _exchanged(kept: Array, new: Array, at: int, length: int) -> Array:
    return np.concatenate([kept[:at], new[:length], kept[at + length :]])


def _exchanged_for_fewer(kept: Array, new: Array, at: int, length: int) -> Array:
    return np.concatenate([kept[:at], new[: length // 2], kept[at + length :]])


def _moved(kept: Array, new: Array, at: int, length: int) -> Array:
    return np.concatenate([kept[:at], kept[at + length :], kept[at : at + length]])


def _turned(kept: Array, new: Array, at: int, length: int) -> Array:
    return np.concatenate([kept[:at], kept[at : at + length][::-1], kept[at + length :]])


KINDS: tuple[Callable[[Array, Array, int, int], Array], ...] = (
    _exchanged, _exchanged, _exchanged_for_fewer, _left_out, _put_in, _moved, _turned,
)  # fmt: skip


def spliced(own: Array, other: Array, rng: Any) -> Array:
    """Rows of ``own`` [..., elements] as ``other``, of as many rows, has them, edited in one to three stretches; what
    is put in, and what a row lacks at its end, is its own, or one number of it."""
    rows, others = (array.reshape(-1, array.shape[-1]) for array in (own, other))
    lengths = others.shape[1], rows.shape[1]
    places = np.stack([_edited(*lengths, rng) for _ in range(min(len(rows), DISTINCT))])
    places = cast(Any, np).resize(places, rows.shape)
    return np.take_along_axis(np.concatenate([others, rows], axis=-1), places, -1).reshape(own.shape)


def _edited(length: int, wanted: int, rng: Any) -> Array:
    """Where each of ``wanted`` elements comes from: the other one's places, of which there are ``length``, then own."""
    kept, own = np.arange(length), length + np.arange(wanted)
    for _ in range(int(rng.integers(1, EDITS + 1))):
        kind, many = KINDS[int(rng.integers(len(KINDS)))], int(length ** rng.uniform(0, 1))
        new: Array = rng.permutation(own)
        new = np.full_like(new, new[0]) if rng.random() < ALIKE else new
        kept = kind(kept, new, int(rng.integers(0, max(1, length - many) + 1)), max(1, many))
    return np.concatenate([kept, own])[:wanted]
