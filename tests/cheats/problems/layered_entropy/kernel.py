"""Cosines to prototypes, their softmax, and its entropy."""

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


def ones(r, c):
    t = new(r, c)
    nisa.memset(dst=t, value=1.0)
    return t


def unit(x):
    """Rows of length one."""
    square = combined(reduced(combined(x, x, nl.multiply), nl.add), 1e-12, nl.add)
    return combined(x, function(square, nl.rsqrt), nl.multiply)


@nki.jit
def kernel(x, w, p):
    """x [M, D], w [D, H], p [P, H] -> [M, 1]."""
    out = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
    h = unit(function(multiplied(turned(load(x)), load(w)), nl.tanh))
    s = combined(multiplied(turned(h), turned(unit(load(p)))), 16.0, nl.multiply)
    top = reduced(s, nl.maximum)
    z = combined(s, top, nl.subtract)
    e = function(z, nl.exp)
    total = reduced(e, nl.add)
    share = combined(e, inverse(total), nl.multiply)
    ln = function(total, nl.log)
    rest = combined(combined(z, ln, nl.subtract), -1.0, nl.multiply)
    nisa.dma_copy(dst=out, src=reduced(combined(share, rest, nl.multiply), nl.add))
    return out
