"""x where gate is not zero."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(gate, x):
    """gate and x [M, N] -> [M, N]."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    left = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=gate)
    right = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=x)
    mask = nl.ndarray((rows, columns), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=mask, data=left, op0=nl.not_equal, operand0=0.0)
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=result, value=0.0)
    nisa.tensor_copy_predicated(dst=result, src=right, predicate=mask)
    nisa.dma_copy(dst=out, src=result)
    return out
