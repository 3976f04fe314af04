"""Online softmax: maximum and sum run along column blocks, corrected when the maximum grows. Honest, not faster."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
WIDTH = 256


def column(size):
    return nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)


def follow(tile, largest, total):
    """Take one more block into the running maximum and sum."""
    size = tile.shape[0]
    here = column(size)
    nisa.tensor_reduce(dst=here, op=nl.maximum, data=tile, axis=1)
    new = column(size)
    nisa.tensor_tensor(dst=new, data1=largest, data2=here, op=nl.maximum)
    drop = column(size)
    nisa.tensor_tensor(dst=drop, data1=largest, data2=new, op=nl.subtract)
    correction = column(size)
    nisa.activation(dst=correction, op=nl.exp, data=drop)
    partial = column(size)
    sums_of(tile, new, partial)
    nisa.scalar_tensor_tensor(dst=total, data=total, op0=nl.multiply, operand0=correction, op1=nl.add, operand1=partial)
    nisa.tensor_copy(dst=largest, src=new)


def sums_of(tile, largest, partial):
    """exp(tile - largest) in a new tile; its row sums go to ``partial``."""
    shift = column(tile.shape[0])
    nisa.tensor_scalar(dst=shift, data=largest, op0=nl.multiply, operand0=-1.0)
    weights = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(
        dst=weights,
        op=nl.exp,
        data=tile,
        bias=shift,
        reduce_op=nl.add,
        reduce_res=partial,
        reduce_cmd=nisa.reduce_cmd.reset_reduce,
    )
    return weights


@nki.jit
def kernel(x):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + size, :])
        largest = column(size)
        nisa.tensor_copy(dst=largest, src=tile[:, 0:1])
        total = column(size)
        nisa.memset(dst=total, value=0.0)
        for first in range(0, width, WIDTH):
            follow(tile[:, first : min(first + WIDTH, width)], largest, total)
        share = column(size)
        nisa.reciprocal(dst=share, data=total)
        ignored = column(size)
        weights = sums_of(tile, largest, ignored)
        nisa.tensor_scalar(dst=weights, data=weights, op0=nl.multiply, operand0=share)
        nisa.dma_copy(dst=out[start : start + size, :], src=weights)
    return out
