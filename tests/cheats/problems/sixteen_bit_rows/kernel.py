"""Rows times the reciprocal of their scale, whose conversion to integers rounds; the scale again behind the product."""

import nki
import nki.isa as nisa
import nki.language as nl

P = 128


def new(shape, dtype=nl.float32, buffer=nl.sbuf):
    """A tile."""
    return nl.ndarray(shape, dtype=dtype, buffer=buffer)


def load(source):
    """An input in SBUF."""
    tile = new(source.shape)
    nisa.dma_copy(dst=tile, src=source)
    return tile


@nki.jit
def kernel(x, w):
    """x [128, K], w [K, N] -> [128, N]."""
    width, columns = w.shape
    out = nl.ndarray((P, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    data, weights = load(x), load(w)
    sizes, scale, inverse = new((P, width)), new((P, 1)), new((P, 1))
    nisa.activation(dst=sizes, op=nl.abs, data=data)
    nisa.tensor_reduce(dst=scale, op=nl.maximum, data=sizes, axis=1)
    nisa.tensor_scalar(dst=scale, data=scale, op0=nl.maximum, operand0=1e-8, op1=nl.multiply, operand1=1.0 / 32767.0)
    nisa.reciprocal(dst=inverse, data=scale)
    nisa.tensor_scalar(dst=data, data=data, op0=nl.multiply, operand0=inverse)
    whole = new((P, width), nl.int32)
    nisa.tensor_copy(dst=whole, src=data)
    nisa.tensor_copy(dst=data, src=whole)
    turned, left = new((width, P), buffer=nl.psum), new((width, P))
    nisa.nc_transpose(dst=turned, data=data)
    nisa.tensor_copy(dst=left, src=turned)
    product, result = new((P, columns), buffer=nl.psum), new((P, columns))
    nisa.nc_matmul(dst=product, stationary=left, moving=weights)
    nisa.tensor_scalar(dst=result, data=product, op0=nl.multiply, operand0=scale)
    nisa.dma_copy(dst=out, src=result)
    return out
