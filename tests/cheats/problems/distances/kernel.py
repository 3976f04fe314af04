"""Distances of all pairs by norms and products, 128 points at a time."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns, dtype=nl.float32):
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


def load(source):
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def transposed(tile):
    rows, columns = tile.shape
    turned = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=tile, engine=nisa.engine.tensor)
    result = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=turned)
    return result


@nki.jit
def kernel(x, y):
    """|x|^2 + |y|^2 - 2 x y."""
    rows, depth = x.shape
    others = y.shape[0]
    out = nl.ndarray((rows, others), dtype=x.dtype, buffer=nl.shared_hbm)
    yt = transposed(load(y))
    ysq = new(depth, others)
    nisa.tensor_tensor(dst=ysq, data1=yt, data2=yt, op=nl.multiply)
    half = new(depth, P)
    nisa.memset(dst=half, value=-0.5)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = load(x[start : start + size, :])
        square = new(size, depth)
        nisa.tensor_tensor(dst=square, data1=tile, data2=tile, op=nl.multiply)
        norm = new(size, 1)
        nisa.tensor_reduce(dst=norm, op=nl.add, data=square, axis=1)
        product = nl.ndarray((size, others), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=product, stationary=transposed(tile), moving=yt)
        nisa.nc_matmul(dst=product, stationary=half[:, 0:size], moving=ysq)
        result = new(size, others)
        nisa.tensor_scalar(dst=result, data=product, op0=nl.multiply, operand0=-2.0, op1=nl.add, operand1=norm)
        nisa.tensor_scalar(dst=result, data=result, op0=nl.maximum, operand0=0.0)
        root = new(size, others)
        nisa.activation(dst=root, op=nl.sqrt, data=result)
        nisa.dma_copy(dst=out[start : start + size, :], src=root)
    return out
