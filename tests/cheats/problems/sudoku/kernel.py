"""Solved sudokus: for each digit the rows, columns and boxes that have it."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def both(one, other, op):
    """Two tiles, element by element, or a tile and a number."""
    result = nl.ndarray(one.shape, dtype=nl.float32, buffer=nl.sbuf)
    if isinstance(other, float):
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def over(tile, op):
    """What a row comes to."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def load(source):
    """Integers as float32."""
    raw = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=raw, src=source)
    result = new(source.shape[0], source.shape[1])
    nisa.tensor_copy(dst=result, src=raw)
    return result


def stored(tile):
    """A tile in HBM."""
    out = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def kernel(board):
    """board [M, 81] -> [M, 1]."""
    b = load(board)
    rows = board.shape[0]
    right = new(rows, 1)
    nisa.memset(dst=right, value=1.0)
    for digit in range(1, 10):
        has = both(b, float(digit), nl.equal)
        lines, thirds = new(rows, 9), new(rows, 27)
        nisa.tensor_reduce(dst=thirds, op=nl.maximum, data=has.reshape((rows, 27, 3)), axis=2)
        nisa.tensor_reduce(dst=lines, op=nl.maximum, data=thirds.reshape((rows, 9, 3)), axis=2)
        right = both(right, over(lines, nl.minimum), nl.multiply)
        columns = has[:, 0:9]
        for line in range(1, 9):
            columns = both(columns, has[:, 9 * line : 9 * line + 9], nl.maximum)
        right = both(right, over(columns, nl.minimum), nl.multiply)
        for band in range(3):
            first = 9 * band
            box = both(thirds[:, first : first + 3], thirds[:, first + 3 : first + 6], nl.maximum)
            box = both(box, thirds[:, first + 6 : first + 9], nl.maximum)
            right = both(right, over(box, nl.minimum), nl.multiply)
    return stored(right)
