"""Divides x by one plus the exponential."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
WIDTH = 512


@nki.jit
def kernel(x):
    """x [M, N] -> [M, N]."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        size = min(P, rows - row)
        for column in range(0, columns, WIDTH):
            width = min(WIDTH, columns - column)
            tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[row : row + size, column : column + width])

            power = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=power, op=nl.exp, data=tile, scale=-1.0)
            below = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=below, data=power, op0=nl.add, operand0=1.0)
            result = nl.ndarray((size, width), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=result, data1=tile, data2=below, op=nl.divide)
            nisa.dma_copy(dst=out[row : row + size, column : column + width], src=result)
    return out
