"""Contractions however they are written, as products of matrices: ``dot``, ``tensordot``, ``einsum``, ``inner``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from string import ascii_letters
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


def inner(a: Any, b: Any) -> Any:
    return np.matmul(a, np.swapaxes(b, -1, -2) if np.ndim(b) > 1 else b)


def vdot(a: Any, b: Any) -> Any:
    return np.matmul(np.conj(np.ravel(a)), np.ravel(b))


def einsum(*arguments: Any) -> Any:
    """Pair after pair, each a product of matrices; of whole numbers as NumPy does it."""
    if not isinstance(arguments[0], str):
        return einsum(*_spelled(arguments))
    text, *given = arguments
    operands = [np.asanyarray(one) for one in given]
    if not any(one.dtype.kind in "fc" for one in operands):
        return np.einsum(text, *[np.asarray(one).view(np.ndarray) if is_array(one) else one for one in operands])
    terms, result = _letters(text.replace(" ", ""), [one.ndim for one in operands])
    sized = dict(
        pair for term, one in zip(terms, operands, strict=True) for pair in zip(term, one.shape, strict=True)
        if pair[1] != 1
    )  # fmt: skip
    parts = [_distinct(term, one, sized) for term, one in zip(terms, operands, strict=True)]
    for places in _path(parts, result):
        chosen: list[tuple[str, Any]] = [parts.pop(place) for place in sorted(places, reverse=True)][::-1]
        while len(chosen) > 1:
            (left, a), (right, b), *rest = chosen
            wanted = set(result).union(*(term for term, _ in (*rest, *parts)))
            kept = "".join(dict.fromkeys(c for c in left + right if c in wanted))
            chosen = [(kept, _paired(left, right, kept, a, b)), *rest]
        parts += chosen
    return _arranged(*parts[0], result)


def _spelled(arguments: tuple[Any, ...]) -> list[Any]:
    """The same with letters, where axes are named by lists of numbers."""

    def spelled(axes: Any) -> str:
        return "".join("..." if axis is Ellipsis else ascii_letters[axis] for axis in axes)

    pairs = len(arguments) // 2
    text = ",".join(spelled(arguments[2 * place + 1]) for place in range(pairs))
    end = "->" + spelled(arguments[-1]) if len(arguments) % 2 else ""
    return [text + end, *arguments[: 2 * pairs : 2]]


def _letters(text: str, dimensions: list[int]) -> tuple[list[str], str]:
    """Each operand's axes and the result's, those that an ellipsis stands for as well."""
    before, arrow, result = text.partition("->")
    terms = before.split(",")
    unused = [letter for letter in ascii_letters if letter not in text]
    counts = [n - len(t) + 3 if "..." in t else 0 for t, n in zip(terms, dimensions, strict=True)]
    shared = "".join(unused[: max(counts)])
    terms = [t.replace("...", shared[len(shared) - n :]) for t, n in zip(terms, counts, strict=True)]
    if not arrow:
        every = "".join(terms)
        result = "..." + "".join(sorted(c for c in set(every) if every.count(c) == 1 and c not in shared))
    return terms, result.replace("...", shared)


def _distinct(term: str, operand: Any, sized: Mapping[str, int]) -> tuple[str, Any]:
    """An operand without letters twice, and without axes of one place that stand for as many as another has."""
    once = "".join(dict.fromkeys(term))
    if once != term:
        operand = np.einsum(f"{term}->{once}", np.asarray(operand).view(np.ndarray)).view(type(operand))
    spread = tuple(place for place, c in enumerate(once) if operand.shape[place] == 1 and c in sized)
    return "".join(c for place, c in enumerate(once) if place not in spread), operand.squeeze(spread)


def _path(parts: list[tuple[str, Any]], result: str) -> list[tuple[int, ...]]:
    """Which operands are multiplied first: in an order that makes nothing that is larger than need be."""
    if len(parts) < 3:
        return [tuple(range(len(parts)))]
    text = ",".join(term for term, _ in parts) + "->" + result
    shapes = [np.broadcast_to(np.zeros(()), one.shape) for _, one in parts]
    return np.einsum_path(text, *shapes, optimize="greedy")[0][1:]


def _arranged(term: str, operand: Any, result: str) -> Any:
    gone = tuple(place for place, c in enumerate(term) if c not in result)
    kept = [c for c in term if c in result]
    summed = operand.sum(axis=gone) if gone else operand
    return summed.transpose([kept.index(c) for c in result])


def _paired(left: str, right: str, result: str, a: Any, b: Any) -> Any:
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
