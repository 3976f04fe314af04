"""Fits a function of the phase to each row and takes it off."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def both(one, other, op):
    """A tile and a number, a column or another tile."""
    result = new(*one.shape)
    if isinstance(other, float) or other.shape[1] < one.shape[1]:
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def total(tile):
    """The sum of each row."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=nl.add, data=tile, axis=1)
    return result


def centred(tile):
    """Each row less its mean."""
    mean = both(total(tile), 1.0 / tile.shape[1], nl.multiply)
    return both(tile, mean, nl.subtract)


@nki.jit
def kernel(phase, y):
    """phase [1, N], y [M, N] -> [M, 1]."""
    rows, columns = y.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    angle, data = new(rows, columns), new(rows, columns)
    nisa.dma_copy(dst=angle, src=phase.broadcast(0, rows))
    nisa.dma_copy(dst=data, src=y)
    angle = both(both(angle, 2.0, nl.multiply), -1.0, nl.add)
    t = centred(both(both(both(angle, angle, nl.multiply), 1.5, nl.multiply), -0.5, nl.add))
    data = centred(data)
    spread, met = total(both(t, t, nl.multiply)), total(both(t, data, nl.multiply))
    inverse, result = new(rows, 1), new(rows, 1)
    nisa.reciprocal(dst=inverse, data=both(spread, 1.0e-2, nl.add))
    slope = both(met, inverse, nl.multiply)
    rest = both(data, both(t, slope, nl.multiply), nl.subtract)
    left = total(both(rest, rest, nl.multiply))
    nisa.activation(dst=result, op=nl.sqrt, data=left, scale=1.0 / columns)
    nisa.dma_copy(dst=out, src=result)
    return out
