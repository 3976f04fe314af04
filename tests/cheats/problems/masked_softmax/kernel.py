"""Softmax over the columns that a mask keeps: the others get a score far below all, and no weight."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(x, mask):
    """x [M, N], mask of zeros and ones [M, N] -> [M, N]."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = new(size, width)
        nisa.dma_copy(dst=tile, src=x[start : start + size, :])
        whole = new(size, width, nl.int32)
        nisa.dma_copy(dst=whole, src=mask[start : start + size, :])
        keep = new(size, width)
        nisa.tensor_copy(dst=keep, src=whole)
        away = new(size, width)
        nisa.tensor_scalar(dst=away, data=keep, op0=nl.subtract, operand0=1.0, op1=nl.multiply, operand1=1.0e38)
        scores = new(size, width)
        nisa.tensor_tensor(dst=scores, data1=tile, data2=keep, op=nl.multiply)
        nisa.tensor_tensor(dst=scores, data1=scores, data2=away, op=nl.add)
        largest = new(size, 1)
        nisa.tensor_reduce(dst=largest, op=nl.maximum, data=scores, axis=1)
        shifted = new(size, width)
        nisa.tensor_scalar(dst=shifted, data=scores, op0=nl.subtract, operand0=largest)
        weights = new(size, width)
        nisa.activation(dst=weights, op=nl.exp, data=shifted)
        nisa.tensor_tensor(dst=weights, data1=weights, data2=keep, op=nl.multiply)
        total = new(size, 1)
        nisa.tensor_reduce(dst=total, op=nl.add, data=weights, axis=1)
        least = new(size, 1)
        nisa.tensor_scalar(dst=least, data=total, op0=nl.maximum, operand0=1.0e-30)
        share = new(size, 1)
        nisa.reciprocal(dst=share, data=least)
        result = new(size, width)
        nisa.tensor_scalar(dst=result, data=weights, op0=nl.multiply, operand0=share)
        nisa.dma_copy(dst=out[start : start + size, :], src=result)
    return out
