"""Softmax without the row's largest value: right on small logits, infinite on large ones."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


@nki.jit
def kernel(x):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + size, :])
        weights = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=weights, op=nl.exp, data=tile)
        total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=weights, axis=1)
        share = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=share, data=total)
        nisa.tensor_scalar(dst=weights, data=weights, op0=nl.multiply, operand0=share)
        nisa.dma_copy(dst=out[start : start + size, :], src=weights)
    return out
