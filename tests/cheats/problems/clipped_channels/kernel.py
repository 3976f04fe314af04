"""Limits by two operators of one instruction."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, gain):
    """x [M, D], gain [D] -> [M, D]."""
    M, D = x.shape
    out = nl.ndarray((M, D), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((M, D), dtype=nl.float32, buffer=nl.sbuf)
    scale = nl.ndarray((M, D), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=scale, src=gain.ap(pattern=[[0, M], [1, D]], offset=0))
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.minimum, operand0=8.0, op1=nl.maximum, operand1=-8.0)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=scale, op=nl.multiply)
    nisa.dma_copy(dst=out, src=tile)
    return out
