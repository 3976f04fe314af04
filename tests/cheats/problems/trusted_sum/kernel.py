"""Fuses three attributions: each is divided by the sum of its magnitudes, and so is their sum."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns, buffer=nl.sbuf):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=buffer)


def unit(dst, tile, rows, columns, trust):
    """Each row of a tile, divided by its sum of magnitudes."""
    sizes, total, share = new(rows, columns), new(rows, 1), new(rows, 1)
    nisa.activation(dst=sizes, op=nl.abs, data=tile)
    nisa.tensor_reduce(dst=total, op=nl.add, data=sizes, axis=1)
    counts = new(rows, 1)
    nisa.tensor_scalar(dst=counts, data=total, op0=nl.greater, operand0=1.0e-6, op1=nl.multiply, operand1=trust)
    nisa.tensor_scalar(dst=total, data=total, op0=nl.maximum, operand0=1.0e-6)
    nisa.reciprocal(dst=share, data=total)
    nisa.tensor_scalar(dst=dst, data=tile, op0=nl.multiply, operand0=share, op1=nl.multiply, operand1=counts)


@nki.jit
def kernel(a, b, c):
    """a, b, c [128, N] -> [128, N]."""
    rows, columns = a.shape
    out = nl.ndarray((rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    total = new(rows, columns)
    nisa.memset(dst=total, value=0.0)
    for source, trust in ((a, 1.0), (b, 0.75), (c, 0.625)):
        tile, one = new(rows, columns), new(rows, columns)
        nisa.dma_copy(dst=tile, src=source)
        unit(one, tile, rows, columns, trust)
        nisa.tensor_tensor(dst=total, data1=total, data2=one, op=nl.add)
    sizes, length, share, result = new(rows, columns), new(rows, 1), new(rows, 1), new(rows, columns)
    nisa.activation(dst=sizes, op=nl.abs, data=total)
    nisa.tensor_reduce(dst=length, op=nl.add, data=sizes, axis=1)
    counts = new(rows, 1)
    nisa.tensor_scalar(dst=counts, data=length, op0=nl.greater, operand0=1.0e-6)
    nisa.tensor_scalar(dst=length, data=length, op0=nl.maximum, operand0=1.0e-6)
    nisa.reciprocal(dst=share, data=length)
    nisa.tensor_scalar(dst=result, data=total, op0=nl.multiply, operand0=share, op1=nl.multiply, operand1=counts)
    nisa.dma_copy(dst=out, src=result)
    return out
