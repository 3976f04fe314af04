"""Moves x in place by weights that it is given turned."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y):
    """x [B, N], y [B, N], which is b turned -> x, moved."""
    t = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
    u = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=u, src=y)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=0.5)
    nisa.scalar_tensor_tensor(dst=t, data=u, op0=nl.multiply, operand0=2.0, op1=nl.add, operand1=t)
    nisa.dma_copy(dst=x, src=t)
    return x
