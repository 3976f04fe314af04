"""1 / sqrt(x) where x is positive, else -1."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """x [M, N] -> [M, N]."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    none = nl.ndarray((rows, columns), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=none, data=tile, op0=nl.less_equal, operand0=0.0)
    nisa.tensor_copy_predicated(dst=tile, src=1.0, predicate=none)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.rsqrt, operand0=0.0, engine=nisa.engine.gpsimd)
    nisa.tensor_copy_predicated(dst=tile, src=-1.0, predicate=none)
    nisa.dma_copy(dst=out, src=tile)
    return out
