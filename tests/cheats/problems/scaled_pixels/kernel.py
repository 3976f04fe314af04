"""Scales pixels, 128 rows at a time."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns, buffer=nl.sbuf):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=buffer)


@nki.jit
def kernel(x, scale):
    """x int32 [M, N], scale [M, 1] -> float32 [M, N]."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=scale.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        whole, by = nl.ndarray((P, columns), dtype=x.dtype, buffer=nl.sbuf), new(P, 1)
        nisa.dma_copy(dst=whole, src=x[start : start + P, :])
        nisa.dma_copy(dst=by, src=scale[start : start + P, :])
        tile = new(P, columns)
        nisa.tensor_copy(dst=tile, src=whole)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=by)
        nisa.dma_copy(dst=out[start : start + P, :], src=tile)
    return out
