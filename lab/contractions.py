"""Contractions however they are written, as products of matrices: ``dot``, ``tensordot``, ``einsum``, ``inner``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from nki_anvil.lab.arithmetic import is_array


def dot(a: Any, b: Any) -> Any:
    a, b = np.asanyarray(a), np.asanyarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if b.ndim > 2:
        return np.tensordot(a, b, axes=([-1], [-2]))
    return np.matmul(a, b)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = np.asanyarray(a), np.asanyarray(b)
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = ([axis] if isinstance(axis, int) else list(axis) for axis in axes)
    left, right = [axis % a.ndim for axis in left], [axis % b.ndim for axis in right]
    a_free = [axis for axis in range(a.ndim) if axis not in left]
    b_free = [axis for axis in range(b.ndim) if axis not in right]
    depth = math.prod(a.shape[axis] for axis in left)
    flat_a = a.transpose(*a_free, *left).reshape(-1, depth)
    flat_b = b.transpose(*right, *b_free).reshape(depth, -1)
    return np.matmul(flat_a, flat_b).reshape([a.shape[i] for i in a_free] + [b.shape[i] for i in b_free])


def einsum(subscripts: Any, *operands: Any, **_options: Any) -> Any:
    """Two operands without repeated letters become a matrix product; anything else is computed as NumPy does."""
    if not isinstance(subscripts, str) or len(operands) != 2 or "." in subscripts:
        return _plain_einsum(subscripts, *operands)
    text = subscripts.replace(" ", "")
    terms, _, result = text.partition("->")
    left, _, right = terms.partition(",")
    if "->" not in text:
        result = "".join(sorted(letter for letter in set(left + right) if (left + right).count(letter) == 1))
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        return _plain_einsum(subscripts, *operands)
    return _paired_einsum(left, right, result, operands[0], operands[1])


def _plain_einsum(subscripts: Any, *operands: Any) -> Any:
    plain = [np.asarray(o).view(np.ndarray) if is_array(o) else o for o in operands]
    return np.einsum(subscripts, *plain)


def _paired_einsum(left: str, right: str, result: str, a: Any, b: Any) -> Any:
    for letter in [c for c in left if c not in right + result]:
        a, left = a.sum(axis=left.index(letter)), left.replace(letter, "")
    for letter in [c for c in right if c not in left + result]:
        b, right = b.sum(axis=right.index(letter)), right.replace(letter, "")
    both = [c for c in left if c in right]
    batch, summed = [c for c in both if c in result], [c for c in both if c not in result]
    rows, columns = [c for c in left if c not in both], [c for c in right if c not in both]
    size: Mapping[str, int] = {**dict(zip(left, a.shape, strict=True)), **dict(zip(right, b.shape, strict=True))}

    def flat(array: Any, letters: str, first: list[str], second: list[str]) -> Any:
        ordered = array.transpose([letters.index(c) for c in batch + first + second])
        return ordered.reshape([size[c] for c in batch] + [math.prod(size[c] for c in g) for g in (first, second)])

    product = np.matmul(flat(a, left, rows, summed), flat(b, right, summed, columns))
    letters = batch + rows + columns
    return product.reshape([size[c] for c in letters]).transpose([letters.index(c) for c in result])


def inner(a: Any, b: Any) -> Any:
    return np.matmul(a, np.swapaxes(b, -1, -2) if np.ndim(b) > 1 else b)
