"""Numbers of eight bits times their channels' scales, and the softmax of each row."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def load(source):
    """A part of HBM in SBUF, as float32."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    result = new(*source.shape)
    nisa.tensor_copy(dst=result, src=tile)
    return result


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


def reduced(tile, op):
    """Each row's sum or largest element, [P, 1]."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def inverse(tile):
    """One divided by each element."""
    result = new(*tile.shape)
    nisa.reciprocal(dst=result, data=tile)
    return result


@nki.jit
def kernel(x, a):
    """x [M, N], a [N] -> [M, N]."""
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    for row in range(0, x.shape[0], P):
        end = min(row + P, x.shape[0])
        scales = load(a.reshape((1, a.shape[0])).broadcast(0, end - row))
        scaled = combined(load(x[row:end, :]), scales, nl.multiply)
        largest = reduced(scaled, nl.maximum)
        weights = function(nl.exp, combined(scaled, largest, nl.subtract))
        nisa.dma_copy(dst=out[row:end, :], src=combined(weights, inverse(reduced(weights, nl.add)), nl.multiply))
    return out
