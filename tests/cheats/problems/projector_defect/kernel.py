"""How far a matrix is from a projector."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(columns):
    """A float32 tile of all partitions."""
    return nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)


def total(one, other):
    """The sums of products along rows."""
    product, result = new(one.shape[1]), new(1)
    nisa.tensor_tensor(dst=product, data1=one, data2=other, op=nl.multiply)
    nisa.tensor_reduce(dst=result, data=product, op=nl.add, axis=1, keepdims=True)
    return result


def summed(column):
    """All partitions' sum, [1, 1]."""
    ones = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    middle = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.psum)
    result = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.nc_matmul(dst=middle, stationary=column, moving=ones)
    nisa.tensor_copy(dst=result, src=middle)
    return result


@nki.jit
def kernel(p):
    """p [128, 128] -> [1, 1]."""
    out = nl.ndarray((1, 1), dtype=p.dtype, buffer=nl.shared_hbm)
    data, across, square = new(P), new(P), new(P)
    nisa.dma_copy(dst=data, src=p)
    part = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=part, data=data, engine=nisa.engine.tensor)
    nisa.tensor_copy(dst=across, src=part)
    product = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=across, moving=data)
    nisa.tensor_copy(dst=square, src=product)
    nisa.tensor_tensor(dst=square, data1=square, data2=data, op=nl.subtract)
    nisa.dma_copy(dst=out, src=summed(total(square, square)))
    return out
