"""Matrix product that keeps the right operand in SBUF: each operand is read once, in whole rows."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
F = nl.tile_size.gemm_moving_fmax


def load(source):
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def turned_blocks(tile):
    rows, columns = tile.shape
    blocks = []
    for start in range(0, columns, P):
        size = min(P, columns - start)
        turned = nl.ndarray((size, rows), dtype=tile.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=tile[:, start : start + size], engine=nisa.engine.tensor)
        block = nl.ndarray((size, rows), dtype=tile.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=block, src=turned, engine=nisa.engine.scalar)
        blocks.append(block)
    return blocks


@nki.jit
def kernel(lhs, rhs):
    rows, _ = lhs.shape
    depth, columns = rhs.shape
    out = nl.ndarray((rows, columns), dtype=lhs.dtype, buffer=nl.shared_hbm)
    weights = [load(rhs[k : min(k + P, depth), :]) for k in range(0, depth, P)]
    for row in range(0, rows, P):
        row_end = min(row + P, rows)
        blocks = turned_blocks(load(lhs[row:row_end, :]))
        result = nl.ndarray((row_end - row, columns), dtype=out.dtype, buffer=nl.sbuf)
        for column in range(0, columns, F):
            column_end = min(column + F, columns)
            product = nl.ndarray((row_end - row, column_end - column), dtype=nl.float32, buffer=nl.psum)
            for block, right in zip(blocks, weights, strict=True):
                nisa.nc_matmul(dst=product, stationary=block, moving=right[:, column:column_end])
            nisa.tensor_copy(dst=result[:, column:column_end], src=product)
        nisa.dma_copy(dst=out[row:row_end, :], src=result)
    return out
