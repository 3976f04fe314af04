"""RMSNorm, one tile of 128 rows after the other, one instruction per step of the formula."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


@nki.jit
def kernel(x, gain, eps):
    """x [M, N], gain [N] -> [M, N]."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + size, :])
        gains = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=gains, src=gain.reshape((1, width)).broadcast(0, size))

        squares = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
        total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
        mean = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / width, op1=nl.add, operand1=eps)
        scale = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.rsqrt, data=mean)

        normal = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=normal, data=tile, op0=nl.multiply, operand0=scale)
        result = nl.ndarray((size, width), dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=normal, data2=gains, op=nl.multiply)
        nisa.dma_copy(dst=out[start : start + size, :], src=result)
    return out
