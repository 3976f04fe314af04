"""Keys and values of the latents, scores, their softmax, and values weighed by it."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def load(source):
    """A part of HBM in SBUF."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def turned(tile):
    """The transpose of a tile."""
    bank = nl.ndarray((tile.shape[1], tile.shape[0]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=bank, data=tile, engine=nisa.engine.tensor)
    result = new(tile.shape[1], tile.shape[0])
    nisa.tensor_copy(dst=result, src=bank)
    return result


def multiplied(stationary, moving):
    """stationary^T moving, in SBUF."""
    part = nl.ndarray((stationary.shape[1], moving.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=part, stationary=stationary, moving=moving)
    result = new(*part.shape)
    nisa.tensor_copy(dst=result, src=part)
    return result


def combined(one, other, op):
    """Two tiles, element by element; what has one column, or is a number, is the same in all of them."""
    result = new(*one.shape)
    if isinstance(other, float) or other.shape[1] == 1:
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def reduced(tile, op):
    """Along rows: [rows, 1]."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def function(tile, op):
    """Of each element."""
    result = new(*tile.shape)
    nisa.activation(dst=result, op=op, data=tile)
    return result


def inverse(tile):
    """Of each element."""
    result = new(*tile.shape)
    nisa.reciprocal(dst=result, data=tile)
    return result


def weights(s):
    """The softmax of scaled rows."""
    s = combined(s, 1.0 / 32**0.5, nl.multiply)
    e = function(combined(s, reduced(s, nl.maximum), nl.subtract), nl.exp)
    return combined(e, inverse(reduced(e, nl.add)), nl.multiply)


@nki.jit
def kernel(q, c, wk, wv):
    """q [Q, D], c [S, C], wk and wv [C, D] -> [Q, D]."""
    out = nl.ndarray(q.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    qt, cc = turned(load(q)), load(c)
    ct = turned(cc)
    p = weights(multiplied(qt, multiplied(load(wk), ct)))
    nisa.dma_copy(dst=out, src=multiplied(turned(p), multiplied(ct, load(wv))))
    return out
