"""Tables that grow row by row, and of which the rows of a loop's body are repeated at once, as columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


class Growth:
    """One table: finished pieces, each an array of rows, and the rows that are being added."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.count = 0
        self._pieces: list[Rows] = []
        self._rows: list[tuple[int, ...]] = []

    def add(self, row: tuple[int, ...]) -> int:
        """Append one row; returns its number."""
        self._rows.append(row)
        self.count += 1
        return self.count - 1

    def last(self) -> tuple[int, ...]:
        """The row that was added last; only asked for while it is not part of a piece."""
        return self._rows[-1]

    def replace(self, row: int, values: tuple[int, ...]) -> bool:
        """Change a row that was added since the last piece; False where it is older."""
        place = row - (self.count - len(self._rows))
        if place < 0:
            return False
        self._rows[place] = values
        return True

    def mark(self) -> int:
        """Close the rows so far into a piece; what comes after can be taken off."""
        if self._rows:
            self._pieces.append(padded(self._rows, self.width))
            self._rows = []
        return len(self._pieces)

    def take(self, mark: int) -> Rows:
        """Remove and return the rows since a mark."""
        self.mark()
        taken = self._pieces[mark:]
        del self._pieces[mark:]
        result = np.concatenate(taken) if taken else np.zeros((0, self.width), np.int64)
        self.count -= len(result)
        return result

    def put(self, rows: Rows) -> None:
        """Append many rows."""
        self.mark()
        self._pieces.append(rows)
        self.count += len(rows)

    def row(self, number: int) -> tuple[int, ...]:
        """One row of the table."""
        for piece in self._pieces:
            if number < len(piece):
                return tuple(piece[number].tolist())
            number -= len(piece)
        return self._rows[number]

    def all(self) -> Rows:
        """The whole table."""
        self.mark()
        if len(self._pieces) != 1:
            self._pieces = [np.concatenate([np.zeros((0, self.width), np.int64), *self._pieces])]
        return self._pieces[0]


def padded(rows: list[tuple[int, ...]], width: int) -> Rows:
    """Rows as an array; short ones end with zeros."""
    if all(len(row) == width for row in rows):
        return np.array(rows, np.int64).reshape(len(rows), width)
    result = np.zeros((len(rows), width), np.int64)
    for place, row in enumerate(rows):
        result[place, : len(row)] = row
    return result


def repeated(rows: Rows, times: int) -> tuple[Rows, NDArray[np.int64]]:
    """The rows so many times over, and the number of the repetition that each belongs to."""
    return np.tile(rows, (times, 1)), np.repeat(np.arange(times, dtype=np.int64), len(rows))
