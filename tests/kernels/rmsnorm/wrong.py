"""RMSNorm that forgets epsilon: right on ordinary rows, wrong on rows near zero."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


@nki.jit
def kernel(x, gain, eps):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    gains = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gains, src=gain.reshape((1, width)).broadcast(0, P))
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + size, :])
        squares = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
        total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
        scale = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.rsqrt, data=total, scale=1.0 / width)
        result = nl.ndarray((size, width), dtype=out.dtype, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=result, data=tile, op0=nl.multiply, operand0=scale, op1=nl.multiply, operand1=gains[0:size, :]
        )
        nisa.dma_copy(dst=out[start : start + size, :], src=result)
    return out
