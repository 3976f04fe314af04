"""Divides a residual layer where its input is above a threshold, and takes 0.3 from it elsewhere."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


@nki.jit
def kernel(x, w):
    """x [M, N], w [N, N] -> [M, N]."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    weights = nl.ndarray((width, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=weights, src=w)
    for row in range(0, rows, P):
        size = min(P, rows - row)
        tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[row : row + size, :])
        turned = nl.ndarray((width, size), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=tile, engine=nisa.engine.tensor)
        across = nl.ndarray((width, size), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=across, src=turned)
        product = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=product, stationary=across, moving=weights)
        total = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=total, data1=product, data2=tile, op=nl.add)
        here = nl.ndarray((size, width), dtype=nl.uint8, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=here, data=tile, op0=nl.greater, operand0=0.3)
        divisor = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=divisor, value=1.0)
        nisa.tensor_copy_predicated(dst=divisor, src=tile, predicate=here)
        nisa.reciprocal(dst=divisor, data=divisor)
        quotient = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=quotient, data1=total, data2=divisor, op=nl.multiply)
        result = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=total, op0=nl.subtract, operand0=0.3)
        nisa.tensor_copy_predicated(dst=result, src=quotient, predicate=here)
        nisa.dma_copy(dst=out[row : row + size, :], src=result)
    return out
