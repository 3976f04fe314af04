"""Sums and their return by products with who owns what."""

import nki
import nki.isa as nisa
import nki.language as nl

P, S = 128, 16


def new(shape, dtype=nl.float32, buffer=nl.sbuf):
    """A tile."""
    return nl.ndarray(shape, dtype=dtype, buffer=buffer)


@nki.jit
def kernel(x, owner):
    """x [128, N], owner [128, 1] -> [128, N]."""
    width = x.shape[1]
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    data, raw, who = new((P, width)), new((P, 1), nl.int32), new((P, 1))
    nisa.dma_copy(dst=data, src=x)
    nisa.dma_copy(dst=raw, src=owner)
    nisa.tensor_copy(dst=who, src=raw)
    whole, names, mine, ones = new((P, S), nl.int32), new((P, S)), new((P, S)), new((P, 1))
    nisa.iota(dst=whole, pattern=[[1, S]], offset=0)
    nisa.tensor_copy(dst=names, src=whole)
    nisa.tensor_scalar(dst=mine, data=names, op0=nl.equal, operand0=who)
    nisa.memset(dst=ones, value=1.0)
    sums, counts = new((S, width), buffer=nl.psum), new((S, 1), buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=mine, moving=data)
    nisa.nc_matmul(dst=counts, stationary=mine, moving=ones)
    share, means = new((S, 1)), new((S, width))
    nisa.tensor_scalar(dst=share, data=counts, op0=nl.maximum, operand0=1.0)
    nisa.reciprocal(dst=share, data=share)
    nisa.tensor_scalar(dst=means, data=sums, op0=nl.multiply, operand0=share)
    turned, back, given = new((S, P), buffer=nl.psum), new((S, P)), new((P, width), buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=mine)
    nisa.tensor_copy(dst=back, src=turned)
    nisa.nc_matmul(dst=given, stationary=back, moving=means)
    result = new((P, width))
    nisa.tensor_tensor(dst=result, data1=data, data2=given, op=nl.subtract)
    nisa.dma_copy(dst=out, src=result)
    return out
