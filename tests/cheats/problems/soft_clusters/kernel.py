"""Standardised columns, the mean of each cluster, and how far rows are from it."""

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


def ones(rows, columns):
    """A tile of ones."""
    result = new(rows, columns)
    nisa.memset(dst=result, value=1.0)
    return result


@nki.jit
def kernel(logits, x):
    """logits [M, K], x [M, D] -> [1, 1]."""
    rows, clusters = logits.shape
    out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    s, x = load(logits), load(x)
    e = function(combined(s, reduced(s, nl.maximum), nl.subtract), nl.exp)
    a = combined(e, inverse(reduced(e, nl.add)), nl.multiply)
    all_ones = ones(rows, rows)
    z = combined(x, combined(multiplied(all_ones, x), 1.0 / rows, nl.multiply), nl.subtract)
    var = combined(multiplied(all_ones, combined(z, z, nl.multiply)), 1.0 / rows, nl.multiply)
    z = combined(z, function(combined(var, 1e-5, nl.add), nl.rsqrt), nl.multiply)
    parts = new(1, clusters)
    for k in range(clusters):
        member = new(rows, 1)
        nisa.tensor_copy(dst=member, src=a[:, k : k + 1])
        spread = combined(all_ones, member, nl.multiply)
        n = combined(multiplied(spread, ones(rows, 1)), 1e-6, nl.add)
        mean = combined(multiplied(spread, z), inverse(n), nl.multiply)
        less = combined(z, mean, nl.subtract)
        far = reduced(combined(less, less, nl.multiply), nl.add)
        nisa.tensor_copy(dst=parts[:, k : k + 1], src=multiplied(member, far))
    total = combined(reduced(parts, nl.add), 1.0 / (rows * x.shape[1]), nl.multiply)
    nisa.dma_copy(dst=out, src=total)
    return out
