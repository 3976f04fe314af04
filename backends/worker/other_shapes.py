"""At which shapes a kernel is called before the one that counts: what a helper has kept of any of them is there."""

from __future__ import annotations

import random
from typing import Any

ShapeSet = dict[str, Any]


def before(one: ShapeSet, sets: list[ShapeSet], lot: str) -> list[ShapeSet]:
    """All other shape sets of a job, in an order that the ``lot`` decides.

    Two are made up where there is none: users call a kernel at shapes that nobody verified.
    """
    others = [other for other in sets if other is not one] or _made_up(one)
    random.Random(lot).shuffle(others)  # noqa: S311
    return others


def _made_up(one: ShapeSet) -> list[ShapeSet]:
    """The same with the first length of all halved wherever an input has it, and with the last of all half as long
    again; none where every length is one."""
    lengths = [length for spec in one["inputs"] for length in spec["shape"] or () if length > 1]
    made = [(length, (length + 1) // 2) for length in lengths[:1]] + [(n, n + n // 2) for n in lengths[-1:]]
    return [{**one, "inputs": [_with(spec, *lengths) for spec in one["inputs"]]} for lengths in made]


def _with(spec: dict[str, Any], length: int, other: int) -> dict[str, Any]:
    shape = spec["shape"]
    return {**spec, "shape": shape and [other if n == length else n for n in shape]}
