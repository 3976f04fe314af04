"""Factors of a tile of rows, multiplied up in one reduction."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


@nki.jit
def kernel(x):
    """x [M, N] -> [M, 1]."""
    rows, width = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        tile = nl.ndarray((end - row, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[row:end, :])
        nisa.activation(dst=tile, op=nl.tanh, data=tile)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=0.1, op1=nl.add, operand1=1.0)
        product = nl.ndarray((end - row, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=product, op=nl.multiply, data=tile, axis=1)
        nisa.dma_copy(dst=out[row:end, :], src=product)
    return out
