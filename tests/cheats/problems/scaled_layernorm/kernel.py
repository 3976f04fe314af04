"""LayerNorm of x * scale, a tile of rows at a time, its variance about the mean."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def mean(a, b):
    """The rows' means [P, 1] of a * b."""
    product = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=product, data1=a, data2=b, op=nl.multiply)
    result = nl.ndarray((a.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=result, op=nl.add, data=product, axis=1)
    nisa.tensor_scalar(dst=result, data=result, op0=nl.multiply, operand0=1.0 / a.shape[1])
    return result


@nki.jit
def kernel(x, scale):
    """x [M, N], scale [N] -> [M, N]."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    factors = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=factors, src=scale.reshape((1, width)).broadcast(0, P))
    ones = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    for row in range(0, rows, P):
        size = min(P, rows - row)
        h = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=h, src=x[row : row + size, :])
        nisa.tensor_tensor(dst=h, data1=h, data2=factors[0:size, :], op=nl.multiply)
        middle = mean(h, ones[0:size, :])
        centred = nl.ndarray(h.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=centred, data=h, op0=nl.subtract, operand0=middle)
        variance = mean(centred, centred)
        root = nl.ndarray(variance.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=root, op=nl.rsqrt, data=variance, bias=1e-5)
        result = nl.ndarray(h.shape, dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=centred, op0=nl.multiply, operand0=root)
        nisa.dma_copy(dst=out[row : row + size, :], src=result)
    return out
