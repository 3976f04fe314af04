"""Clips a gradient by its norm, which every partition gets as a product with ones."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns, buffer=nl.sbuf):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=buffer)


@nki.jit
def kernel(g):
    """g [128, N] -> [128, N]."""
    rows, columns = g.shape
    out = nl.ndarray((rows, columns), dtype=g.dtype, buffer=nl.shared_hbm)
    tile, squares, sums, ones = new(rows, columns), new(rows, columns), new(rows, 1), new(rows, rows)
    nisa.dma_copy(dst=tile, src=g)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    nisa.tensor_reduce(dst=sums, op=nl.add, data=squares, axis=1)
    nisa.memset(dst=ones, value=1.0)
    total, norm = new(rows, 1, nl.psum), new(rows, 1)
    nisa.nc_matmul(dst=total, stationary=ones, moving=sums)
    nisa.activation(dst=norm, op=nl.sqrt, data=total)
    larger, over, back = new(rows, 1), new(rows, 1), new(rows, 1)
    nisa.tensor_scalar(dst=over, data=norm, op0=nl.greater, operand0=5.0)
    nisa.tensor_scalar(dst=larger, data=norm, op0=nl.maximum, operand0=5.0)
    nisa.reciprocal(dst=back, data=larger)
    nisa.tensor_scalar(dst=back, data=back, op0=nl.multiply, operand0=5.0, op1=nl.multiply, operand1=over)
    kept, share = new(rows, 1), new(rows, 1)
    nisa.tensor_scalar(dst=kept, data=over, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=1.0)
    nisa.tensor_tensor(dst=share, data1=back, data2=kept, op=nl.add)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=share)
    nisa.dma_copy(dst=out, src=tile)
    return out
