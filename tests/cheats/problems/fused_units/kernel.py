"""Fuses three embeddings: each is divided by its length, and so is their sum."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns, buffer=nl.sbuf):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=buffer)


def unit(dst, tile, rows, columns):
    """Each row of a tile, divided by its length."""
    squares, total, share = new(rows, columns), new(rows, 1), new(rows, 1)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
    nisa.activation(dst=total, op=nl.sqrt, data=total)
    nisa.reciprocal(dst=share, data=total)
    nisa.tensor_scalar(dst=dst, data=tile, op0=nl.multiply, operand0=share)


@nki.jit
def kernel(a, b, c):
    """a, b, c [128, N] -> [128, N]."""
    rows, columns = a.shape
    out = nl.ndarray((rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    total = new(rows, columns)
    nisa.memset(dst=total, value=0.0)
    for source in (a, b, c):
        tile, one = new(rows, columns), new(rows, columns)
        nisa.dma_copy(dst=tile, src=source)
        unit(one, tile, rows, columns)
        nisa.tensor_tensor(dst=total, data1=total, data2=one, op=nl.add)
    squares, length, share, result = new(rows, columns), new(rows, 1), new(rows, 1), new(rows, columns)
    nisa.tensor_tensor(dst=squares, data1=total, data2=total, op=nl.multiply)
    nisa.tensor_reduce(dst=length, op=nl.add, data=squares, axis=1)
    nisa.activation(dst=length, op=nl.sqrt, data=length)
    nisa.reciprocal(dst=share, data=length)
    nisa.tensor_scalar(dst=result, data=total, op0=nl.multiply, operand0=share)
    nisa.dma_copy(dst=out, src=result)
    return out
