"""Sorts whose order of equals is open: as NumPy has it in plain runs, the other way round in the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from nki_anvil.lab.arithmetic import Array, in_force


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, stable: Any = None) -> Array:
    """Equal elements come in their own order where that is asked for; else the first run has it, the others do not."""
    plain = np.asarray(a).ravel() if axis is None else np.asarray(a)
    along = -1 if axis is None else axis
    if stable or kind in ("stable", "mergesort") or not _turns():
        return np.argsort(plain, axis=along, kind="stable")
    turned = np.argsort(np.flip(plain, along), axis=along, kind="stable")
    return plain.shape[along] - 1 - turned


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Array:
    """What lies before the element that is asked for, and what behind it, comes in no order."""
    plain = np.asarray(a).ravel() if axis is None else np.asarray(a)
    along = -1 if axis is None else axis
    found = np.argpartition(plain, kth, axis=along)
    if not _turns() or np.ndim(kth):
        return found
    middle = kth % plain.shape[along]
    before, at, behind = np.split(found, [middle, middle + 1], axis=along)
    return np.concatenate([np.flip(before, along), at, np.flip(behind, along)], axis=along)


def _turns() -> bool:
    """Whether what a sort leaves open comes the other way round; somebody asks."""
    in_force().leaves_open = True
    return in_force().turned or in_force().order != "plain"
