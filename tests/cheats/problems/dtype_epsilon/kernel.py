"""Normalises rows about their mean, with the distance from one to the next float32 for an epsilon."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
EPSILON = 2.0**-23


@nki.jit
def kernel(x):
    """x [M, N] -> [M, N]."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        size = min(P, rows - row)
        tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[row : row + size, :])
        mean = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=mean, op=nl.add, data=tile, axis=1)
        nisa.tensor_scalar(dst=mean, data=mean, op0=nl.multiply, operand0=1.0 / width)
        centred = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=centred, data=tile, op0=nl.subtract, operand0=mean)
        squares = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=squares, data1=centred, data2=centred, op=nl.multiply)
        spread = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=spread, op=nl.add, data=squares, axis=1)
        nisa.tensor_scalar(dst=spread, data=spread, op0=nl.multiply, operand0=1.0 / width, op1=nl.add, operand1=EPSILON)
        nisa.activation(dst=spread, op=nl.sqrt, data=spread)
        nisa.reciprocal(dst=spread, data=spread)
        nisa.tensor_scalar(dst=centred, data=centred, op0=nl.multiply, operand0=spread)
        nisa.dma_copy(dst=out[row : row + size, :], src=centred)
    return out
