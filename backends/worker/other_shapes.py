"""At which shapes a kernel is called before the one that counts: what a helper has kept of any of them is there."""

from __future__ import annotations

import random
from typing import Any

ShapeSet = dict[str, Any]

FEWEST = 1
"""One is made up where a problem has none: users call a kernel at shapes that nobody verified."""


def before(one: ShapeSet, sets: list[ShapeSet], lot: str) -> list[ShapeSet]:
    """All other shape sets of a job, or a made-up one, in an order that the ``lot`` decides."""
    others = [other for other in sets if other is not one]
    others += _halved(one)[: max(0, FEWEST - len(others))]
    random.Random(lot).shuffle(others)  # noqa: S311
    return others


def _halved(one: ShapeSet) -> list[ShapeSet]:
    """The same with one length halved wherever an input has it, the first input's lengths one after the other."""
    shapes = [spec["shape"] for spec in one["inputs"] if spec["shape"]]
    lengths = [length for length in dict.fromkeys(shapes[0] if shapes else ()) if length > 1]
    return [{**one, "inputs": [_with(spec, length) for spec in one["inputs"]]} for length in lengths]


def _with(spec: dict[str, Any], length: int) -> dict[str, Any]:
    shape = spec["shape"]
    return {**spec, "shape": shape and [(n + 1) // 2 if n == length else n for n in shape]}
