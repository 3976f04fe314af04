"""An array's rows in each direction, along axes and by tiles: their sums and norms, and where they are largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


NOTHING: Final = 2.0**-120
"""Beside the largest element of an output, or beside one: a function may be cut off so far down."""
TILE: Final = (128, 512)
SHORTEST_ROW: Final = 16
"""Rows with fewer elements are judged by the element limits and by the other axes: one element is no statistic."""


def relative_l2(y: F64, r: F64) -> float:
    """||y - r|| / ||r||; infinite where only y is not zero, or y is not finite."""
    difference, size = norm(y - r), norm(r)
    if not np.isfinite(difference):
        return np.inf
    return difference / size if size else (0.0 if difference == 0 else np.inf)


def norm(array: F64) -> float:
    """L2 norm of a whole array. Not by BLAS, whose threads wait for each other on a busy machine."""
    flat = array.ravel()
    return float(np.sqrt(np.einsum("i,i->", flat, flat)))


def directions(shape: tuple[int, ...]) -> list[str]:
    """In which directions an output has rows: every axis that is long enough, the tiles, or all of it."""
    axes = [f"axis{axis}" for axis, n in enumerate(shape) if n >= SHORTEST_ROW]
    return [*axes, "tile"] if axes else ["whole"]


def cut_off(size: F64, elements: int) -> F64 | float:
    """How far rows of these norms may be off, of so many elements in all, where a function is cut off."""
    return NOTHING * max(1.0, float(size.max(initial=0.0))) * np.sqrt(elements / max(1, size.size))


def norms(array: F64, direction: str) -> F64:
    """L2 norms of an array's rows in one direction. Tiles are 128 x 512 of the last two axes, the last ones partial."""
    return np.sqrt(sums(np.square(array), direction))


def sums(weights: F64, direction: str) -> F64:
    """An array's sums over its rows in one direction."""
    if direction == "whole" or weights.ndim == 0:
        return np.asarray(weights.sum(), dtype=np.float64).reshape(1)
    if direction == "tile":
        return tile_sums(weights)
    return weights.sum(axis=int(direction.removeprefix("axis")))


def tile_sums(weights: F64) -> F64:
    matrix = weights.reshape(-1, 1, weights.shape[-1]) if weights.ndim < 2 else weights
    matrix = matrix.reshape(-1, *matrix.shape[-2:])
    starts = [range(0, n, size) for n, size in zip(matrix.shape[1:], TILE, strict=True)]
    sums = np.empty((len(matrix), len(starts[0]), len(starts[1])))
    for i, row in enumerate(starts[0]):
        for j, column in enumerate(starts[1]):
            sums[:, i, j] = matrix[:, row : row + TILE[0], column : column + TILE[1]].sum(axis=(1, 2))
    return sums


def place_of(weight: F64) -> tuple[int, ...]:
    if not weight.size:
        return ()
    return index(int(np.argmax(weight)), weight.shape)


def index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    places: Sequence[Any] = np.unravel_index(flat, shape)
    return tuple(int(place) for place in places)


def inside_row(weight: F64, direction: str, row: int) -> tuple[int, ...]:
    """The largest element of one row or tile."""
    if direction == "whole" or weight.ndim == 0:
        return place_of(weight)
    if direction == "tile":
        return inside_tile(weight, row)
    axis = int(direction.removeprefix("axis"))
    rest = np.unravel_index(row, tuple(n for i, n in enumerate(weight.shape) if i != axis))
    index: list[Any] = [int(i) for i in rest]
    index.insert(axis, slice(None))
    index[axis] = int(np.argmax(weight[tuple(index)]))
    return tuple(index)


def inside_tile(weight: F64, tile: int) -> tuple[int, ...]:
    matrix = weight.reshape(-1, 1, weight.shape[-1]) if weight.ndim < 2 else weight
    matrix = matrix.reshape(-1, *matrix.shape[-2:])
    counts = (matrix.shape[0], -(-matrix.shape[1] // TILE[0]), -(-matrix.shape[2] // TILE[1]))
    lead, i, j = index(tile, counts)
    part = matrix[lead, i * TILE[0] : (i + 1) * TILE[0], j * TILE[1] : (j + 1) * TILE[1]]
    row, column = place_of(part)
    flat = (lead * matrix.shape[1] + i * TILE[0] + row) * matrix.shape[2] + j * TILE[1] + column
    return index(flat, weight.shape)
