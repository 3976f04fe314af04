"""Scales rows and weights to the largest float8, rounds both to it, and multiplies what is left."""

import nki
import nki.isa as nisa
import nki.language as nl

LARGEST = 240.0


def load(source):
    """A part of HBM in SBUF."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


def transposed(tile):
    """Partitions and columns exchanged."""
    rows, columns = tile.shape
    turned = nl.ndarray((columns, rows), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=tile, engine=nisa.engine.tensor)
    result = new(columns, rows)
    nisa.tensor_copy(dst=result, src=turned)
    return result


def largest(tile):
    """Of each row's magnitudes [P, 1]."""
    sizes, result = new(*tile.shape), new(tile.shape[0], 1)
    nisa.activation(dst=sizes, op=nl.abs, data=tile)
    nisa.tensor_reduce(dst=result, op=nl.maximum, data=sizes, axis=1)
    return result


def scaled(most):
    """What stands for one in float8, and its reciprocal [P, 1]."""
    scale, back = new(*most.shape), new(*most.shape)
    nisa.tensor_scalar(dst=scale, data=most, op0=nl.maximum, operand0=1e-4, op1=nl.multiply, operand1=1.0 / LARGEST)
    nisa.reciprocal(dst=back, data=scale)
    return scale, back


def quantised(tile, back):
    """What float8 leaves of a tile over its scale."""
    narrow, result = new(tile.shape[0], tile.shape[1], nl.float8_e4m3), new(*tile.shape)
    nisa.tensor_scalar(dst=narrow, data=tile, op0=nl.multiply, operand0=back)
    nisa.tensor_copy(dst=result, src=narrow)
    return result


@nki.jit
def kernel(x, w):
    """x [M, K], w [K, N] -> [M, N]."""
    (rows, depth), (_, columns) = x.shape, w.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile, weights = load(x), load(w)
    scale, back = scaled(largest(tile))
    every = largest(transposed(largest(weights)))
    spread = new(1, rows)
    nisa.memset(dst=spread, value=1.0)
    wide = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=wide, stationary=spread, moving=every)
    most = new(rows, 1)
    nisa.tensor_copy(dst=most, src=wide)
    weight_scale, weight_back = scaled(most)
    product = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
    narrow = quantised(tile, back)
    narrow_weights = quantised(weights, weight_back[0:depth, :])
    nisa.nc_matmul(dst=product, stationary=transposed(narrow), moving=narrow_weights)
    result = new(rows, columns)
    nisa.tensor_scalar(
        dst=result, data=product, op0=nl.multiply, operand0=scale, op1=nl.multiply, operand1=weight_scale
    )
    nisa.dma_copy(dst=out, src=result)
    return out
