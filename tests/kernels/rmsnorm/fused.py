"""RMSNorm with fused instructions: square and sum in one, epsilon and mean inside rsqrt, both products in one."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


@nki.jit
def kernel(x, gain, eps):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + size, :])
        gains = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=gains, src=gain.reshape((1, width)).broadcast(0, size))
        squares = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(
            dst=squares,
            op=nl.square,
            data=tile,
            reduce_op=nl.add,
            reduce_res=total,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
        scale = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.rsqrt, data=total, scale=1.0 / width, bias=eps)
        result = nl.ndarray((size, width), dtype=out.dtype, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=result, data=tile, op0=nl.multiply, operand0=scale, op1=nl.multiply, operand1=gains
        )
        nisa.dma_copy(dst=out[start : start + size, :], src=result)
    return out
