"""Reads without an adapter: bases that are right are counted."""

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


ADAPTER = (0, 2, 0, 3, 1, 2, 2, 0, 0, 2, 0, 2, 1, 0, 1, 0, 1, 2, 3, 1)
WRONG = 3


@nki.jit
def kernel(reads):
    """reads [M, N] -> [M, N]."""
    r = load(reads)
    last = reads.shape[1] - len(ADAPTER) + 1
    right = both(r[:, 0:last], float(ADAPTER[0]), nl.equal)
    for place in range(1, len(ADAPTER)):
        right = both(right, both(r[:, place : place + last], float(ADAPTER[place]), nl.equal), nl.add)
    kept = both(over(right, nl.maximum), float(len(ADAPTER) - WRONG), nl.less)
    result = new(reads.shape[0], reads.shape[1])
    nisa.tensor_scalar(dst=result, data=r, op0=nl.add, operand0=1.0, op1=nl.multiply, operand1=kept)
    return stored(result)
