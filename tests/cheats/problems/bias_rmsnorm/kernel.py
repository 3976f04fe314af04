"""RMS norm of a sum with a vector, 128 rows at a time."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns, dtype=nl.float32):
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


def load(source):
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


@nki.jit
def kernel(x, b):
    """x [M, N], b [N]: RMSNorm of x + b."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    more = load(b.reshape((1, width)).broadcast(0, P))
    for start in range(0, rows, P):
        size = min(P, rows - start)
        one = load(x[start : start + size, :])
        both = new(size, width)
        nisa.tensor_tensor(dst=both, data1=one, data2=more[0:size, :], op=nl.add)
        square = new(size, width)
        total = new(size, 1)
        nisa.tensor_tensor(dst=square, data1=both, data2=both, op=nl.multiply)
        nisa.tensor_reduce(dst=total, op=nl.add, data=square, axis=1)
        scale = new(size, 1)
        nisa.tensor_scalar(dst=scale, data=total, op0=nl.multiply, operand0=1.0 / width, op1=nl.add, operand1=1.0e-6)
        nisa.activation(dst=scale, op=nl.rsqrt, data=scale)
        nisa.tensor_scalar(dst=both, data=both, op0=nl.multiply, operand0=scale)
        nisa.dma_copy(dst=out[start : start + size, :], src=both)
    return out
