"""The gradients of attention, 128 queries at a time against all keys; sums over queries are kept in SBUF."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def load(source):
    """A part of HBM, brought into SBUF."""
    tile = new(*source.shape)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def turned(tile):
    """Partitions and columns exchanged."""
    rows, columns = tile.shape
    part = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=part, data=tile, engine=nisa.engine.tensor)
    result = new(columns, rows)
    nisa.tensor_copy(dst=result, src=part)
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


def summed(tile):
    """Of each row, [P, 1]."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=nl.add, data=tile, axis=1)
    return result


def largest(tile):
    """Of each row, [P, 1]."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=nl.maximum, data=tile, axis=1)
    return result


def softened(scores):
    """The weights of each row."""
    weights, inverse = new(*scores.shape), new(scores.shape[0], 1)
    nisa.activation(dst=weights, op=nl.exp, data=combined(scores, largest(scores), nl.subtract))
    nisa.reciprocal(dst=inverse, data=summed(weights))
    return combined(weights, inverse, nl.multiply)


@nki.jit
def kernel(q, k, v, do):
    """q [S, D], k [T, D], v [T, D], do [S, D] -> dq [S, D], dk [T, D], dv [T, D]."""
    keys, values = load(k), load(v)
    turned_keys, turned_values = turned(keys), turned(values)
    dq, dk, dv = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for x in (q, k, v))
    by_keys, by_values = new(*k.shape), new(*v.shape)
    nisa.memset(dst=by_keys, value=0.0)
    nisa.memset(dst=by_values, value=0.0)
    for start in range(0, q.shape[0], P):
        end = min(start + P, q.shape[0])
        queries, gradient = load(q[start:end, :]), load(do[start:end, :])
        weights = softened(combined(multiplied(turned(queries), turned_keys), 0.125, nl.multiply))
        by_weights = multiplied(turned(gradient), turned_values)
        common = summed(combined(weights, by_weights, nl.multiply))
        by_scores = combined(weights, combined(by_weights, common, nl.subtract), nl.multiply)
        by_scores = combined(by_scores, 0.125, nl.multiply)
        nisa.dma_copy(dst=dq[start:end, :], src=multiplied(turned(by_scores), keys))
        by_keys = combined(by_keys, multiplied(by_scores, queries), nl.add)
        by_values = combined(by_values, multiplied(weights, gradient), nl.add)
    nisa.dma_copy(dst=dk, src=by_keys)
    nisa.dma_copy(dst=dv, src=by_values)
    return dq, dk, dv
