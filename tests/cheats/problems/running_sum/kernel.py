"""Sums beginnings of rows by products with a triangle of ones, and carries them over from tile to tile."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def load(source):
    """A part of HBM, brought into SBUF."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def transposed(tile):
    """A tile of at most 128 x 128, with partitions and columns exchanged."""
    rows, columns = tile.shape
    turned = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=tile, engine=nisa.engine.tensor)
    result = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=turned)
    return result


@nki.jit
def kernel(x):
    """x [M, N] -> [M, N]."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    upper = new(P, P)
    nisa.memset(dst=upper, value=1.0)
    nisa.affine_select(
        dst=upper,
        pattern=[[1, P]],
        channel_multiplier=-1,
        on_true_tile=upper,
        on_false_value=0.0,
        cmp_op=nl.greater_equal,
    )
    carry = new(rows, 1)
    nisa.memset(dst=carry, value=0.0)
    for column in range(0, width, P):
        turned = transposed(load(x[:, column : column + P]))
        sums = nl.ndarray((rows, P), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=sums, stationary=turned, moving=upper)
        result = new(rows, P)
        nisa.tensor_scalar(dst=result, data=sums, op0=nl.add, operand0=carry)
        carry = new(rows, 1)
        nisa.tensor_copy(dst=carry, src=result[:, P - 1 : P])
        nisa.dma_copy(dst=out[:, column : column + P], src=result)
    return out
