"""Adds a lot to the sixteen bits that bfloat16 has not, and cuts them off."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(x):
    """x [M, N] -> [M, N]."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    tile, result = new(rows, columns), new(rows, columns, nl.bfloat16)
    lots, wide = new(rows, columns, nl.uint16), new(rows, columns, nl.int32)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.rng(dst=lots)
    nisa.tensor_copy(dst=wide, src=lots)
    bits = tile.view(nl.int32)
    nisa.tensor_tensor(dst=bits, data1=bits, data2=wide, op=nl.add)
    nisa.tensor_scalar(dst=bits, data=bits, op0=nl.right_shift, operand0=16, op1=nl.left_shift, operand1=16)
    nisa.tensor_copy(dst=result, src=tile)
    nisa.dma_copy(dst=out, src=result)
    return out
