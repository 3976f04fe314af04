"""Arithmetic on shapes and strides: what a view does to an access pattern. It knows no tensors and no memories."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Shape: TypeAlias = tuple[int, ...]


def row_major(shape: Sequence[int]) -> Shape:
    """The strides, in elements, of a dense block."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def extent(shape: Iterable[int], strides: Iterable[int]) -> int:
    """Elements from the first to the last one touched, both included, for strides that are not negative."""
    return 1 + sum((count - 1) * step for count, step in zip(shape, strides, strict=True))


def contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements follow each other without a gap."""
    expected = 1
    for count, step in zip(reversed(shape), reversed(strides), strict=True):
        if count != 1 and step != expected:
            return False
        expected *= count
    return True


def coalesce(shape: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """The same walk with as few (count, step) pairs as possible, slowest first; counts of one disappear."""
    groups: list[tuple[int, int]] = []
    for count, step in zip(shape, strides, strict=True):
        if count == 1:
            continue
        if groups and groups[-1][1] == step * count:
            groups[-1] = (groups[-1][0] * count, step)
        else:
            groups.append((count, step))
    return groups


def reshape(shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> Shape | None:
    """Strides that give the same walk the wanted shape of equal size, or None where it would need a copy."""
    result: list[int] = []
    for group, step in coalesce(shape, strides):
        remaining = group
        while remaining > 1:
            count = wanted[len(result)]
            if remaining % count:
                return None
            remaining //= count
            result.append(remaining * step)
    return tuple(result) + (1,) * (len(wanted) - len(result))


def infer(total: int, shape: Sequence[int]) -> Shape:
    """The shape with its one -1 replaced so that the product is the total; ValueError where that is impossible."""
    known = math.prod(count for count in shape if count != -1)
    if list(shape).count(-1) > 1 or known <= 0 or total % known:
        raise ValueError(f"{tuple(shape)} cannot hold {total} elements")
    result = tuple(total // known if count == -1 else count for count in shape)
    if math.prod(result) != total:
        raise ValueError(f"{tuple(shape)} holds {math.prod(result)} elements, not {total}")
    return result
