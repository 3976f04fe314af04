"""What a draw's rows, along its last axis, are in order of: facts from which is inferred what all of a problem's are.

It is part of the reference's process, which must start fast: NumPy and no more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nki_anvil.backends.worker.arguments import distinct_rows

Array = np.ndarray[Any, Any]
Record = dict[str, Any]


def facts(numbers: Array) -> Record:
    """Whether rows ascend, are permutations of the same consecutive integers, or integers of which none comes twice.

    Which number each of the first two begins and ends with, and how unlikely they are by chance (``bits``: of how many
    arrangements of the same numbers).
    """
    found: Record = {"ascending": False, "permutation": False, "distinct": False}
    found |= {"first": None, "last": None, "bits": 0.0}
    if not numbers.ndim or not numbers.size or not np.isfinite(numbers).all():
        return found
    rows = numbers.reshape(-1, numbers.shape[-1])
    found |= {"ascending": _ascend(rows), "permutation": _permutes(rows), "distinct": _are_distinct(numbers)}
    if found["ascending"] or found["permutation"]:
        found |= {"first": _only(rows[:, 0]), "last": _only(rows[:, -1]), "bits": _bits(np.sort(rows, axis=1))}
    return found


def _ascend(rows: Array) -> bool:
    """The first few rows are looked at by themselves: hardly an input goes on from there."""
    return all(bool((some[:, 1:] >= some[:, :-1]).all()) for some in (rows[:4], rows[4:]))


def _permutes(rows: Array) -> bool:
    if rows.shape[1] < 3 or _only(rows.min(axis=1)) is None:
        return False
    return all(bool((np.diff(np.sort(some, axis=1), axis=1) == 1).all()) for some in (rows[:4], rows[4:]))


def _are_distinct(numbers: Array) -> bool:
    """Whether they are integers of which none comes twice."""
    if (numbers != np.rint(numbers)).any():
        return False
    rows = numbers.reshape(distinct_rows(numbers.shape))
    return all(bool((np.diff(np.sort(some, axis=1), axis=1) != 0).all()) for some in (rows[:4], rows[4:]))


def _only(numbers: Array) -> float | None:
    """The one number that all of them are."""
    return float(numbers[0]) if bool((numbers == numbers[0]).all()) else None


def _bits(rows: Array) -> float:
    """The logarithm of how many arrangements sorted rows have, equals being equal."""
    begins = np.ones(rows.shape, bool)
    begins[:, 1:] = rows[:, 1:] != rows[:, :-1]
    lengths, counts = np.unique(np.diff(np.append(np.flatnonzero(begins), rows.size)), return_counts=True)
    of_each = zip(lengths.tolist(), counts.tolist(), strict=True)
    equal = sum(math.lgamma(length + 1) * count for length, count in of_each)
    return (len(rows) * math.lgamma(rows.shape[1] + 1) - equal) / math.log(2)
