"""Both through their layers, centred and brought to length one, and what is between them squared."""

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


def features(xt, first, second):
    """Of two layers, centred and of length one."""
    hidden = function(multiplied(xt, first), nl.tanh)
    z = function(multiplied(turned(hidden), second), nl.tanh)
    mean = combined(reduced(z, nl.add), 1.0 / z.shape[1], nl.multiply)
    z = combined(z, mean, nl.subtract)
    square = combined(reduced(combined(z, z, nl.multiply), nl.add), 1e-12, nl.add)
    return combined(z, function(square, nl.rsqrt), nl.multiply)


@nki.jit
def kernel(x, w1, w2, t1, t2):
    """x [M, D], w1 and t1 [D, H], w2 and t2 [H, N] -> [M, 1]."""
    out = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
    xt = turned(load(x))
    p = features(xt, load(w1), load(w2))
    q = features(xt, load(t1), load(t2))
    less = combined(p, q, nl.subtract)
    nisa.dma_copy(dst=out, src=reduced(combined(less, less, nl.multiply), nl.add))
    return out
