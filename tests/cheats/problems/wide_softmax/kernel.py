"""Softmax of few long rows, its maximum bank by bank."""

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


F = 512


@nki.jit
def kernel(x):
    """x [M, N] -> softmax along rows, the maximum over chunks of columns."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = load(x[start : start + size, :])
        most = new(size, 1)
        nisa.memset(dst=most, value=-3.0e38)
        for column in range(0, width, F):
            end = min(column + F, width)
            part = new(size, 1)
            nisa.tensor_reduce(dst=part, op=nl.maximum, data=tile[:, column:end], axis=1)
            nisa.tensor_tensor(dst=most, data1=most, data2=part, op=nl.maximum)
        minus = new(size, 1)
        nisa.tensor_scalar(dst=minus, data=most, op0=nl.multiply, operand0=-1.0)
        weights = new(size, width)
        total = new(size, 1)
        nisa.activation_reduce(dst=weights, op=nl.exp, data=tile, bias=minus, reduce_op=nl.add, reduce_res=total)
        back = new(size, 1)
        nisa.reciprocal(dst=back, data=total)
        nisa.tensor_scalar(dst=weights, data=weights, op0=nl.multiply, operand0=back)
        nisa.dma_copy(dst=out[start : start + size, :], src=weights)
    return out
