"""Clips a gradient by its norm and a limit, both of which every partition gets as a product with ones."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns, buffer=nl.sbuf):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=buffer)


@nki.jit
def kernel(g, limit):
    """g [128, N], limit [1, 1] -> [128, N]."""
    rows, columns = g.shape
    out = nl.ndarray((rows, columns), dtype=g.dtype, buffer=nl.shared_hbm)
    tile, squares, sums = new(rows, columns), new(rows, columns), new(rows, 1)
    ones, most = new(rows, rows), new(1, 1)
    nisa.dma_copy(dst=tile, src=g)
    nisa.dma_copy(dst=most, src=limit)
    nisa.memset(dst=ones, value=1.0)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    nisa.tensor_reduce(dst=sums, op=nl.add, data=squares, axis=1)
    total, told = new(rows, 1, nl.psum), new(rows, 1, nl.psum)
    nisa.nc_matmul(dst=total, stationary=ones, moving=sums)
    nisa.nc_matmul(dst=told, stationary=ones[0:1, :], moving=most)
    norm, share = new(rows, 1), new(rows, 1)
    nisa.activation(dst=norm, op=nl.sqrt, data=total)
    nisa.tensor_scalar(dst=norm, data=norm, op0=nl.add, operand0=1.0e-6)
    nisa.reciprocal(dst=share, data=norm)
    nisa.tensor_tensor(dst=share, data1=share, data2=told, op=nl.multiply)
    nisa.tensor_scalar(dst=share, data=share, op0=nl.minimum, operand0=1.0)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=share)
    nisa.dma_copy(dst=out, src=tile)
    return out
