"""A trigger with two thresholds, one scan along each row."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


@nki.jit
def kernel(x):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        data, begins, holds, state = (nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf) for _ in range(4))
        nisa.dma_copy(dst=data, src=x[row : row + P, :])
        nisa.tensor_scalar(dst=begins, data=data, op0=nl.greater, operand0=1.5)
        nisa.tensor_scalar(dst=holds, data=data, op0=nl.greater_equal, operand0=1.0)
        nisa.tensor_tensor(dst=holds, data1=holds, data2=begins, op=nl.subtract)
        nisa.tensor_tensor_scan(dst=state, data0=holds, data1=begins, initial=0.0, op0=nl.multiply, op1=nl.add)
        nisa.dma_copy(dst=out[row : row + P, :], src=state)
    return out
