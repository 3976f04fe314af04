"""The largest number of each column: columns become rows on the tensor engine."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def load(source):
    """A part of HBM in SBUF."""
    tile = new(*source.shape)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def new(rows, columns):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def reduced(tile, op):
    """Each row's sum or largest element, [P, 1]."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def turned(tile):
    """Columns as rows."""
    rows, columns = tile.shape
    middle, result = nl.ndarray((columns, rows), dtype=nl.float32, buffer=nl.psum), new(columns, rows)
    nisa.nc_transpose(dst=middle, data=tile, engine=nisa.engine.tensor)
    nisa.tensor_copy(dst=result, src=middle)
    return result


@nki.jit
def kernel(x):
    """x [M, N] -> [1, N]."""
    rows, columns = x.shape
    out = nl.ndarray((1, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    across = new(columns, rows)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        nisa.tensor_copy(dst=across[:, row:end], src=turned(load(x[row:end, :])))
    largest = reduced(across, nl.maximum)
    nisa.dma_copy(dst=out, src=turned(largest))
    return out
