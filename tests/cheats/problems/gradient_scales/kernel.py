"""Scales gradients, and halves in place the scale of a row in which one is large."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(scale, g):
    """scale [B, 1], g [B, N] -> scale, halved in place, and g * scale."""
    out = nl.ndarray(g.shape, dtype=g.dtype, buffer=nl.shared_hbm)
    s = nl.ndarray(scale.shape, dtype=nl.float32, buffer=nl.sbuf)
    t = nl.ndarray(g.shape, dtype=nl.float32, buffer=nl.sbuf)
    r = nl.ndarray(g.shape, dtype=nl.float32, buffer=nl.sbuf)
    m = nl.ndarray(scale.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=s, src=scale)
    nisa.dma_copy(dst=t, src=g)
    nisa.tensor_scalar(dst=r, data=t, op0=nl.multiply, operand0=s)
    nisa.dma_copy(dst=out, src=r)
    a = nl.ndarray(g.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=a, op=nl.abs, data=t)
    nisa.tensor_reduce(dst=m, op=nl.maximum, data=a, axis=1)
    # 1 - 0.5 (m > 100)
    nisa.tensor_scalar(dst=m, data=m, op0=nl.greater, operand0=100.0, op1=nl.multiply, operand1=-0.5)
    nisa.tensor_scalar(dst=m, data=m, op0=nl.add, operand0=1.0)
    u = nl.ndarray(scale.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=u, data1=s, data2=m, op=nl.multiply)
    nisa.dma_copy(dst=scale, src=u)
    return scale, out
