"""Computes the transposed product and lets a view exchange its axes for nothing."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def load(source):
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def transposed(tile):
    rows, columns = tile.shape
    turned = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=tile, engine=nisa.engine.tensor)
    result = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=turned)
    return result


@nki.jit
def kernel(lhs, rhs):
    rows, depth = lhs.shape
    columns = rhs.shape[1]
    out = nl.ndarray((columns, rows), dtype=lhs.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        row_end = min(row + P, rows)
        for column in range(0, columns, P):
            column_end = min(column + P, columns)
            product = nl.ndarray((column_end - column, row_end - row), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, depth, P):
                k_end = min(k + P, depth)
                moving = transposed(load(lhs[row:row_end, k:k_end]))
                nisa.nc_matmul(dst=product, stationary=load(rhs[k:k_end, column:column_end]), moving=moving)
            result = nl.ndarray(product.shape, dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=product)
            nisa.dma_copy(dst=out[column:column_end, row:row_end], src=result)
    return out.permute((1, 0))
