"""A table of the tone, two sums, and the mean square of what is left."""

import math

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
TURNS = 37


def new(columns, dtype=nl.float32):
    """A tile of all partitions."""
    return nl.ndarray((P, columns), dtype=dtype, buffer=nl.sbuf)


def table(width, behind):
    """The cosines of so many turns, three quarters behind (sines) or not."""
    at, phase, other, values = new(width, nl.int32), new(width), new(width), new(width)
    nisa.iota(dst=at, pattern=[[TURNS, width]], offset=behind, channel_multiplier=0)
    nisa.tensor_scalar(dst=at, data=at, op0=nl.bitwise_and, operand0=width - 1)
    nisa.tensor_copy(dst=phase, src=at)
    nisa.tensor_scalar(dst=other, data=phase, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=float(width))
    nisa.tensor_tensor(dst=phase, data1=phase, data2=other, op=nl.maximum)
    turn = 2 * math.pi / width
    nisa.tensor_scalar(dst=phase, data=phase, op0=nl.subtract, operand0=0.75 * width, op1=nl.multiply, operand1=turn)
    nisa.activation(dst=values, data=phase, op=nl.sin)
    return values


def total(one, other):
    """The sums of products along rows."""
    product, result = new(one.shape[1]), new(1)
    nisa.tensor_tensor(dst=product, data1=one, data2=other, op=nl.multiply)
    nisa.tensor_reduce(dst=result, data=product, op=nl.add, axis=1, keepdims=True)
    return result


@nki.jit
def kernel(x):
    """x [128, N] -> [128, 1]."""
    width = x.shape[1]
    out = nl.ndarray((P, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    data = new(width)
    nisa.dma_copy(dst=data, src=x)
    cosines, sines = table(width, 0), table(width, 3 * width // 4)
    even, odd = total(data, cosines), total(data, sines)
    for part in (even, odd):
        nisa.tensor_scalar(dst=part, data=part, op0=nl.multiply, operand0=2.0 / width)
    for part, tone in ((even, cosines), (odd, sines)):
        nisa.tensor_scalar(dst=tone, data=tone, op0=nl.multiply, operand0=part)
        nisa.tensor_tensor(dst=data, data1=data, data2=tone, op=nl.subtract)
    left = total(data, data)
    nisa.tensor_scalar(dst=left, data=left, op0=nl.multiply, operand0=1.0 / width)
    nisa.dma_copy(dst=out, src=left)
    return out
