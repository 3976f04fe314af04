"""Goes through the columns tile by tile and keeps the largest number so far with its place."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
F = 256
LEAST = -3.4e38


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(logits, noise):
    """logits and noise [M, N] -> places [M, 1]."""
    rows, width = logits.shape
    out = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        best = new(size, 1)
        nisa.memset(dst=best, value=LEAST)
        place = new(size, 1)
        nisa.memset(dst=place, value=0.0)
        for column in range(0, width, F):
            count = min(F, width - column)
            tile = new(size, count)
            nisa.dma_copy(dst=tile, src=logits[start : start + size, column : column + count])
            more = new(size, count)
            nisa.dma_copy(dst=more, src=noise[start : start + size, column : column + count])
            nisa.tensor_tensor(dst=tile, data1=tile, data2=more, op=nl.add)
            eight = new(size, 8)
            nisa.max8(dst=eight, src=tile)
            found = new(size, 8, nl.uint32)
            nisa.nc_find_index8(dst=found, data=tile, vals=eight)
            at = new(size, 1)
            nisa.tensor_scalar(dst=at, data=found[:, 0:1], op0=nl.add, operand0=float(column))
            larger = new(size, 1, nl.uint8)
            nisa.tensor_tensor(dst=larger, data1=eight[:, 0:1], data2=best, op=nl.greater)
            nisa.tensor_copy_predicated(dst=place, src=at, predicate=larger)
            nisa.tensor_copy_predicated(dst=best, src=eight[:, 0:1], predicate=larger)
        whole = new(size, 1, nl.int32)
        nisa.tensor_copy(dst=whole, src=place)
        nisa.dma_copy(dst=out[start : start + size, :], src=whole)
    return out
