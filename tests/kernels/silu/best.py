"""SiLU as the scalar engine's own function, whole rows at a time: one instruction per tile."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


@nki.jit
def kernel(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        size = min(P, rows - row)
        tile = nl.ndarray((size, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[row : row + size, :])
        result = nl.ndarray((size, columns), dtype=out.dtype, buffer=nl.sbuf)
        nisa.activation(dst=result, op=nl.silu, data=tile)
        nisa.dma_copy(dst=out[row : row + size, :], src=result)
    return out
