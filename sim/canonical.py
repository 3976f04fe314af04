"""A program without what nothing in it uses: what two texts that say the same thing have in common.

A tile that no instruction touches, or a view that none sees, is not part of what a kernel does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[Any]]
Mask = NDArray[np.bool_]

_NONE: Final = -1
_INDICES: Final = ("scalar_access", "vector_access")
_GIVEN: Final = 1
"""The role of an input, which is there whether it is used or not."""


def used(tables: Mapping[str, Columns]) -> tuple[dict[str, Columns], Mask]:
    """The tables with used accesses, pairs and tensors alone, numbered anew; and which tensors those are."""
    accesses = tables["accesses"]
    seen = _seen(tables)
    rows = {name: column[seen] for name, column in accesses.items()}
    touched = tables["tensors"]["role"] == _GIVEN
    touched[rows["tensor"]] = True
    numbers, tensors = _numbers(seen), _numbers(touched)
    rows["tensor"] = tensors[rows["tensor"]].astype(rows["tensor"].dtype)
    for index in _INDICES:
        rows[index] = _renamed(rows[index], numbers)
    places = _places(rows["first_pair"], rows["pairs"])
    rows["first_pair"] = np.cumsum(rows["pairs"], dtype=np.int64) - rows["pairs"]
    return {
        **tables,
        "accesses": rows,
        "pairs": {name: column[places] for name, column in tables["pairs"].items()},
        "tensors": {name: column[touched] for name, column in tables["tensors"].items()},
        "operands": {"access": _renamed(tables["operands"]["access"], numbers)},
        "outputs": {"access": _renamed(tables["outputs"]["access"], numbers)},
    }, touched


def attributes(given: Sequence[Mapping[str, Any]]) -> tuple[list[str], NDArray[np.int64]]:
    """Records as text, each once, and which of them each of the given ones is."""
    texts = [json.dumps(plain(dict(one)), sort_keys=True) for one in given]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return list(numbers), np.array([numbers[text] for text in texts], np.int64)


def plain(value: Any) -> Any:
    """An attribute in which 2.0 is 2: instructions take it for the same number."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in cast(dict[str, Any], value).items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in cast(Sequence[Any], value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _seen(tables: Mapping[str, Columns]) -> Mask:
    """Accesses of operands and outputs, and what these are moved by."""
    accesses = tables["accesses"]
    seen = np.zeros(len(accesses["tensor"]), np.bool_)
    found = np.concatenate([tables["operands"]["access"], tables["outputs"]["access"]])
    while (found := found[found != _NONE]).size:
        seen[found] = True
        found = np.concatenate([accesses[index][found] for index in _INDICES])
        found = found[(found != _NONE) & ~seen[found]]
    return seen


def _numbers(kept: Mask) -> NDArray[np.int64]:
    return np.cumsum(kept) - 1


def _renamed(column: NDArray[Any], numbers: NDArray[np.int64]) -> NDArray[Any]:
    if not len(numbers):
        return column
    return np.where(column == _NONE, _NONE, numbers[column]).astype(column.dtype)


def _places(first: NDArray[np.int64], counts: NDArray[Any]) -> NDArray[np.int64]:
    """Every pair of each access, in turn."""
    starts = np.cumsum(counts, dtype=np.int64) - counts
    return np.repeat(first - starts, counts) + np.arange(int(counts.sum()))
