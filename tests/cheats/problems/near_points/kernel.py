"""log(c + sqrt(c - 1) sqrt(c + 1)) of the inner product c."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(columns):
    """A tile of all partitions."""
    return nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)


def root(inner, less):
    """sqrt(c - less)."""
    result = new(1)
    nisa.tensor_scalar(dst=result, data=inner, op0=nl.subtract, operand0=less, op1=nl.power, operand1=0.5)
    return result


@nki.jit
def kernel(x, y):
    """-> [M, 1]."""
    rows, width = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    one, other, products, inner = new(width), new(width), new(width), new(1)
    nisa.dma_copy(dst=one, src=x)
    nisa.dma_copy(dst=other, src=y)
    nisa.tensor_tensor(dst=products, data1=one, data2=other, op=nl.multiply)
    nisa.tensor_reduce(dst=inner, data=products[:, 1:width], op=nl.add, axis=1, keepdims=True)
    nisa.tensor_tensor(dst=inner, data1=products[:, 0:1], data2=inner, op=nl.subtract)
    far = new(1)
    nisa.tensor_tensor(dst=far, data1=root(inner, 1.0), data2=root(inner, -1.0), op=nl.multiply)
    nisa.tensor_tensor(dst=far, data1=far, data2=inner, op=nl.add)
    nisa.activation(dst=far, op=nl.log, data=far)
    nisa.dma_copy(dst=out, src=far)
    return out
