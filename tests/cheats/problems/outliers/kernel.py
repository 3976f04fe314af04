"""Booleans, which are bytes on the chip."""

import nki
import nki.isa as nisa
import nki.language as nl

LIMIT = 2.0


@nki.jit
def kernel(x):
    """-> [M, N]."""
    out = nl.ndarray(x.shape, dtype=nl.bool_, buffer=nl.shared_hbm)
    held = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=x)
    nisa.activation(dst=held, op=nl.abs, data=held)
    beyond = nl.ndarray(x.shape, dtype=nl.bool_, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=beyond, data=held, op0=nl.greater, operand0=LIMIT)
    nisa.dma_copy(dst=out, src=beyond)
    return out
