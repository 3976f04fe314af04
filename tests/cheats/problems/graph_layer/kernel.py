"""A projection, what neighbours have of it, and a bias."""

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


def function(tile, op):
    """Of each element."""
    result = new(*tile.shape)
    nisa.activation(dst=result, op=op, data=tile)
    return result


@nki.jit
def kernel(a, x, w, b):
    """a [N, N], x [N, D], w [D, H], b [1, H] -> [N, H]."""
    out = nl.ndarray((a.shape[0], w.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    bias = nl.ndarray(out.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=bias, src=b.ap(pattern=[[0, out.shape[0]], [1, out.shape[1]]]))
    at, xx, ww = turned(load(a)), load(x), load(w)
    y = multiplied(at, multiplied(turned(xx), ww))
    nisa.dma_copy(dst=out, src=function(combined(y, bias, nl.add), nl.relu))
    return out
