"""How far an output is off, place by place: a coarse grid of digits, drawn as an SVG picture for a person. Pure."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import jinja2
import numpy as np
from numpy.typing import NDArray

from nki_anvil.backends.job import Record
from nki_anvil.lab.expected import Expected, needed

CELLS: Final = (40, 64)
"""Rows and columns of the grid at most; a cell shows the worst of its elements."""
HOTTEST: Final = 9
CELL: Final = 10
"""Pixels."""
COLOURS: Final = (
    "#1b2a41", "#21406b", "#235d92", "#2a7f9e", "#3fa387", "#7fbf5a", "#c9cf3f", "#f2b134", "#ee7733", "#cc2936",
)  # fmt: skip
"""By digit, dark to red; readable in print and for most colour-blind eyes by brightness up to 7."""


class Heat(Record):
    """One output of a failed case. It says how wrong each place is, nothing of the values."""

    output: int
    shape: tuple[int, ...]
    rows: tuple[str, ...]
    """A digit per cell: 0 within what honest runs err, n up to 10^n times as much, 9 beyond that or not finite."""
    place: tuple[int, int]
    """The cell of the worst element."""
    index: tuple[int, ...]


def heat(expected: Expected, y: NDArray[Any], index: tuple[int, ...], output: int) -> Heat:
    """``y`` has the expected result's shape; ``index`` is its worst element. Axes before the last count as rows."""
    with np.errstate(all="ignore"):
        off = np.abs(y - np.where(np.isfinite(expected.r), expected.r, y))
        decades = np.ceil(np.log10(off / needed(expected)))
    digits = np.where(np.isfinite(y), np.clip(np.nan_to_num(decades, nan=0.0), 0, HOTTEST), HOTTEST).astype(np.int8)
    matrix = digits.reshape(-1, digits.shape[-1]) if digits.ndim else digits.reshape(1, 1)
    starts = [_starts(n, most) for n, most in zip(matrix.shape, CELLS, strict=True)]
    coarse = np.maximum.reduceat(np.maximum.reduceat(matrix, starts[0], axis=0), starts[1], axis=1)
    flat = int(np.ravel_multi_index(index, expected.r.shape)) if index else 0
    row, column = divmod(flat, matrix.shape[1])
    place = tuple(int(np.searchsorted(s, at, side="right")) - 1 for s, at in zip(starts, (row, column), strict=True))
    return Heat(
        output=output,
        shape=expected.r.shape,
        rows=tuple("".join(map(str, line)) for line in coarse.tolist()),
        place=(place[0], place[1]),
        index=index,
    )


def _starts(length: int, most: int) -> NDArray[np.intp]:
    """Where cells begin along an axis."""
    cells = min(length, most)
    return (np.arange(cells) * length // cells).astype(np.intp)


def draw(found: Heat, title: str) -> str:
    """An SVG file's text."""
    bars = [
        (x * CELL, y * CELL, width * CELL, COLOURS[int(digit)])
        for y, row in enumerate(found.rows)
        for digit, x, width in _runs(row)
    ]
    size = {"width": len(found.rows[0]) * CELL, "height": len(found.rows) * CELL, "cell": CELL}
    worst = {"x": (found.place[1] + 0.5) * CELL, "y": (found.place[0] + 0.5) * CELL}
    return _template().render(found=found, title=title, bars=bars, size=size, worst=worst, colours=COLOURS)


def _runs(row: str) -> list[tuple[str, int, int]]:
    """Equal neighbours as one bar: digit, first cell, cells."""
    runs: list[tuple[str, int, int]] = []
    position = 0
    for digit, cells in groupby(row):
        width = len(list(cells))
        runs.append((digit, position, width))
        position += width
    return runs


@cache
def _template() -> jinja2.Template:
    source = (Path(__file__).parent / "templates" / "heat.svg").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.from_string(source)
