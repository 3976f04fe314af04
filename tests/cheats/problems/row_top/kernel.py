"""Takes eight of each chunk of a row, and the eight largest of those."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
PARTS = 8
KEPT = 8


@nki.jit
def kernel(x):
    """x [M, N] -> the eight largest of each row [M, 8]."""
    rows, width = x.shape
    out = nl.ndarray((rows, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    size = width // PARTS
    for start in range(0, rows, P):
        count = min(P, rows - start)
        tile = nl.ndarray((count, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + count, :])
        kept = nl.ndarray((count, PARTS * KEPT), dtype=nl.float32, buffer=nl.sbuf)
        for part in range(PARTS):
            eight = nl.ndarray((count, 8), dtype=nl.float32, buffer=nl.sbuf)
            nisa.max8(dst=eight, src=tile[:, part * size : (part + 1) * size])
            nisa.tensor_copy(dst=kept[:, part * KEPT : (part + 1) * KEPT], src=eight[:, 0:KEPT])
        largest = nl.ndarray((count, 8), dtype=nl.float32, buffer=nl.sbuf)
        nisa.max8(dst=largest, src=kept)
        nisa.dma_copy(dst=out[start : start + count, :], src=largest)
    return out
