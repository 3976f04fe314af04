"""The loss of 128 rows at a time; the logit of a label is picked by a mask."""

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


def picked(tile, token):
    """Of each row the element that its token names."""
    numbers = new(*tile.shape)
    nisa.iota(dst=numbers, pattern=[[1, tile.shape[1]]], offset=0, channel_multiplier=0)
    return reduced(combined(combined(numbers, token, nl.equal), tile, nl.multiply), nl.add)


def unit(rows):
    """Rows of length one."""
    size = combined(reduced(combined(rows, rows, nl.multiply), nl.add), 1e-12, nl.add)
    return combined(rows, function(size, nl.rsqrt), nl.multiply)


@nki.jit
def kernel(x, w, y):
    """x [M, D], w [N, D], y [M, 1] -> [M, 1]."""
    out = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
    token = new(x.shape[0], 1)
    nisa.tensor_copy(dst=token, src=load(y))
    cosines = multiplied(turned(unit(load(x))), turned(unit(load(w))))
    nisa.tensor_scalar(dst=cosines, data=cosines, op0=nl.minimum, operand0=1.0, op1=nl.maximum, operand1=-1.0)
    logits = combined(cosines, 64.0, nl.multiply)
    behind = combined(logits, picked(logits, token), nl.subtract)
    most = reduced(behind, nl.maximum)
    weights = function(combined(behind, most, nl.subtract), nl.exp)
    loss = combined(function(reduced(weights, nl.add), nl.log), most, nl.add)
    nisa.dma_copy(dst=out, src=loss)
    return out
