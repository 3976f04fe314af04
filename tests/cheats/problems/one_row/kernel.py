"""Softmax, one tile of 128 rows after the other: largest value, exponentials, their sum, division."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


@nki.jit
def kernel(x):
    """x [M, N] -> [M, N]."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + size, :])

        largest = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=largest, op=nl.maximum, data=tile, axis=1)
        shifted = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=shifted, data=tile, op0=nl.subtract, operand0=largest)
        weights = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=weights, op=nl.exp, data=shifted)

        total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=weights, axis=1)
        share = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=share, data=total)
        result = nl.ndarray((size, width), dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=weights, op0=nl.multiply, operand0=share)
        nisa.dma_copy(dst=out[start : start + size, :], src=result)
    return out
