"""Growth from each element of a row to the next, and the layer norm of each row of it."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def combined(one, other, op):
    """Two tiles, element by element; a number, or what has one column, is the same in all of them."""
    result = new(*one.shape)
    if isinstance(other, float) or (other.shape[1] == 1 and one.shape[1] != 1):
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def function(op, tile):
    """Of each element."""
    result = new(*tile.shape)
    nisa.activation(dst=result, op=op, data=tile)
    return result


def inverse(tile):
    """Of each element, however far from zero."""
    result = new(*tile.shape)
    nisa.reciprocal(dst=result, data=tile)
    return result


def mean(tile):
    """Of each row, [P, 1]."""
    total = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
    return combined(total, 1.0 / tile.shape[1], nl.multiply)


@nki.jit
def kernel(x):
    """x [M, N] -> [M, N - 1]."""
    rows, width = x.shape
    out = nl.ndarray((rows, width - 1), dtype=nl.float32, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        tile = new(end - row, width)
        nisa.dma_copy(dst=tile, src=x[row:end, :])
        before = tile[:, 0 : width - 1]
        steps = combined(tile[:, 1:width], before, nl.subtract)
        growth = combined(steps, inverse(before), nl.multiply)
        middle = mean(growth)
        centred = combined(growth, middle, nl.subtract)
        variance = mean(combined(centred, centred, nl.multiply))
        share = function(nl.rsqrt, combined(variance, 1e-6, nl.add))
        nisa.dma_copy(dst=out[row:end, :], src=combined(centred, share, nl.multiply))
    return out
