"""Steps over every second row by hand, and scales the offset."""

import nki
import nki.isa as nisa
import nki.language as nl

COUNT = 8


@nki.jit
def kernel(x, start):
    """x [R, D], start [1, 1] -> [COUNT, D]."""
    _, width = x.shape
    out = nl.ndarray((COUNT, width), dtype=nl.float32, buffer=nl.shared_hbm)
    at = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=at, src=start)
    nisa.tensor_scalar(dst=at, data=at, op0=nl.multiply, operand0=2.0)
    tile = nl.ndarray((COUNT, width), dtype=nl.float32, buffer=nl.sbuf)
    rows = x.ap(pattern=[[2 * width, COUNT], [1, width]], offset=0, scalar_offset=at, indirect_dim=0)
    nisa.dma_copy(dst=tile, src=rows)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
