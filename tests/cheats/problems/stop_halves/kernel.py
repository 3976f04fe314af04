"""Sequences without a stop sequence, in chunks of columns that begin where the one before still looks."""

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


STOP = (27.0, 91.0, 318.0, 12.0, 437.0)
CHUNK, MORE = 256, 4


@nki.jit
def kernel(tokens):
    """tokens [M, N] -> [M, N]."""
    raw = load(tokens)
    rows, width = tokens.shape
    ended = new(rows, 1)
    nisa.memset(dst=ended, value=0.0)
    for start in range(0, width, CHUNK):
        part = raw[:, start : min(start + CHUNK + MORE, width)]
        last = part.shape[1] - len(STOP) + 1
        found = both(part[:, 0:last], STOP[0], nl.equal)
        for place in range(1, len(STOP)):
            found = both(found, both(part[:, place : place + last], STOP[place], nl.equal), nl.multiply)
        ended = both(ended, over(found, nl.maximum), nl.maximum)
    result = new(rows, width)
    nisa.tensor_scalar(dst=result, data=raw, op0=nl.multiply, operand0=both(ended, 0.0, nl.equal))
    return stored(result)
