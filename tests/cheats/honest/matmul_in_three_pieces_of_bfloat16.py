"""Splits each operand into three bfloat16 pieces and adds six products: as exact as float32."""

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


def pieces(tile):
    """high, middle and low, whose sum is the tile."""
    rest, found = tile, []
    for _ in range(3):
        piece = nl.ndarray(tile.shape, dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_copy(dst=piece, src=rest)
        less = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=less, data1=rest, data2=piece, op=nl.subtract)
        rest = less
        found.append(piece)
    return found


def transposed(tile):
    """A tile of at most 128 x 128, with partitions and columns exchanged."""
    rows, columns = tile.shape
    turned = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=tile, engine=nisa.engine.tensor)
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
                left = pieces(transposed(load(lhs[row:row_end, k:k_end])))
                right = pieces(load(rhs[k:k_end, column:column_end]))
                for i, j in ((2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)):
                    nisa.nc_matmul(dst=product, stationary=left[i], moving=right[j])
            result = nl.ndarray(product.shape, dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=product)
            nisa.dma_copy(dst=out[row:row_end, column:column_end], src=result)
    return out
