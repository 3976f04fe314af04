"""Turns the left operand by a matmul with the identity that only moves."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
F = nl.tile_size.gemm_moving_fmax


def load(source):
    """A part of HBM, brought into SBUF."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def transposed(tile):
    """A tile of at most 128 x 128, with partitions and columns exchanged."""
    rows, columns = tile.shape
    turned = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.psum)
    eye = nl.shared_identity_matrix(rows, dtype=tile.dtype)
    nisa.nc_matmul(dst=turned, stationary=tile, moving=load(eye), is_transpose=True)
    result = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=turned)
    return result


@nki.jit
def kernel(lhs, rhs):
    """lhs [M, K], rhs [K, N] -> [M, N]."""
    rows, depth = lhs.shape
    columns = rhs.shape[1]
    out = nl.ndarray((rows, columns), dtype=lhs.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        row_end = min(row + P, rows)
        for column in range(0, columns, F):
            column_end = min(column + F, columns)
            product = nl.ndarray((row_end - row, column_end - column), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, depth, P):
                k_end = min(k + P, depth)
                left = transposed(load(lhs[row:row_end, k:k_end]))
                right = load(rhs[k:k_end, column:column_end])
                nisa.nc_matmul(dst=product, stationary=left, moving=right)
            result = nl.ndarray(product.shape, dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=product)
            nisa.dma_copy(dst=out[row:row_end, column:column_end], src=result)
    return out
