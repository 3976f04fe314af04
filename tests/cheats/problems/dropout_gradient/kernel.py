"""The gradient by queries, 128 of them against all keys."""

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


@nki.jit
def kernel(q, k, v, do, kept):
    """The gradient by q [S, D]."""
    out = nl.ndarray(q.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    keys, values, gradient, mask = load(k), load(v), load(do), new(*kept.shape)
    nisa.tensor_copy(dst=mask, src=load(kept))
    mask = combined(mask, 1.0 / 0.9, nl.multiply)
    scores = combined(multiplied(turned(load(q)), turned(keys)), 0.125, nl.multiply)
    weights = function(combined(scores, reduced(scores, nl.maximum), nl.subtract), nl.exp)
    weights = combined(weights, inverse(reduced(weights, nl.add)), nl.multiply)
    by_weights = combined(multiplied(turned(gradient), turned(values)), mask, nl.multiply)
    common = reduced(combined(weights, by_weights, nl.multiply), nl.add)
    by_scores = combined(weights, combined(by_weights, common, nl.subtract), nl.multiply)
    by_scores = combined(by_scores, 0.125, nl.multiply)
    nisa.dma_copy(dst=out, src=multiplied(turned(by_scores), keys))
    return out
