"""Divides by the bare deviation."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def spread(vector, size):
    """A vector [N] in HBM, repeated on ``size`` partitions."""
    width = vector.shape[0]
    tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=vector.reshape((1, width)).broadcast(0, size))
    return tile


def row_sum(tile):
    """The sum of each row, [P, 1]."""
    total = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
    return total


@nki.jit
def kernel(x, gain, bias, eps):
    """x [M, N], gain and bias [N] -> [M, N]."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + size, :])

        mean = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=row_sum(tile), op0=nl.multiply, operand0=1.0 / width)
        centred = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=centred, data=tile, op0=nl.subtract, operand0=mean)

        squares = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=squares, data1=centred, data2=centred, op=nl.multiply)
        variance = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=variance, data=row_sum(squares), op0=nl.multiply, operand0=1.0 / width, op1=nl.add, operand1=0.0
        )
        scale = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.rsqrt, data=variance)

        normal = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=normal, data=centred, op0=nl.multiply, operand0=scale)
        scaled = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=scaled, data1=normal, data2=spread(gain, size), op=nl.multiply)
        result = nl.ndarray((size, width), dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=scaled, data2=spread(bias, size), op=nl.add)
        nisa.dma_copy(dst=out[start : start + size, :], src=result)
    return out
