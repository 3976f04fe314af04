"""What an argument is added to: the sum of the two is small where the argument is that, with the other sign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nki_anvil.lab.arithmetic import Array, is_array


def opposite(argument: Array, ufunc: np.ufunc, operands: Sequence[Any]) -> Array | None:
    """In the argument's shape, where this is a sum or a difference with all of it; None for any other operation.

    Of several rows to which one of an argument is added, it is the first one's.
    """
    if ufunc not in (np.add, np.subtract) or len(operands) != 2:
        return None
    for place, operand in enumerate(operands):
        other = operands[1 - place]
        if _is_all_of(argument, operand) and is_array(other) and other.dtype.kind == "f":
            met = _in_shape_of(operand, other)
            return None if met is None else (-met if ufunc is np.add else met).reshape(argument.shape)
    return None


def _is_all_of(argument: Array, operand: Any) -> bool:
    whole = is_array(operand) and operand.size == argument.size > 1 and operand.flags.c_contiguous
    return whole and np.shares_memory(operand, argument)


def _in_shape_of(operand: Array, other: Array) -> Array | None:
    full = np.broadcast_shapes(operand.shape, other.shape)
    spread = np.broadcast_to(other, full)[(0,) * (len(full) - operand.ndim)]
    first = spread[tuple(slice(0, n) for n in operand.shape)]
    return np.array(first) if first.shape == operand.shape else None
