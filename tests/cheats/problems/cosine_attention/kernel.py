"""Attention by angles: unit rows of q and k, a learned scale, softmax and v."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
LARGEST = 4.605170185988092
"""The logarithm of 100, which the scale's is clamped at."""


def load(source):
    """A part of HBM in SBUF."""
    tile = new(*source.shape)
    nisa.dma_copy(dst=tile, src=source)
    return tile


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


def turned(tile):
    """Columns as rows."""
    rows, columns = tile.shape
    middle, result = nl.ndarray((columns, rows), dtype=nl.float32, buffer=nl.psum), new(columns, rows)
    nisa.nc_transpose(dst=middle, data=tile, engine=nisa.engine.tensor)
    nisa.tensor_copy(dst=result, src=middle)
    return result


def unit(tile):
    """Each row, its length one."""
    length = function(nl.sqrt, reduced(combined(tile, tile, nl.multiply), nl.add))
    return combined(tile, inverse(combined(length, 1e-6, nl.maximum)), nl.multiply)


def product(left, right):
    """Of two matrices, the left one with its columns as rows."""
    result = nl.ndarray((left.shape[1], right.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=result, stationary=left, moving=right)
    return result


@nki.jit
def kernel(q, k, v, s):
    """q [M, D], k [K, D], v [K, D], s [1, 1] -> [M, D]."""
    rows, _ = q.shape
    out = nl.ndarray(q.shape, dtype=q.dtype, buffer=nl.shared_hbm)
    keys, values = turned(unit(load(k))), load(v)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        scale = function(nl.exp, combined(load(s.broadcast(0, end - row)), LARGEST, nl.minimum))
        scores = combined(product(turned(unit(load(q[row:end, :]))), keys), scale, nl.multiply)
        largest = reduced(scores, nl.maximum)
        weights = function(nl.exp, combined(scores, largest, nl.subtract))
        mixed = combined(product(turned(weights), values), inverse(reduced(weights, nl.add)), nl.multiply)
        nisa.dma_copy(dst=out[row:end, :], src=mixed)
    return out
