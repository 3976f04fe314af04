"""The square of the sine between two orientations, from the six products of their parts, element by element."""

import nki
import nki.isa as nisa
import nki.language as nl

COSINE, SINE = 0.8, 0.6


def new(like):
    """A float32 tile."""
    return nl.ndarray(like.shape, dtype=nl.float32, buffer=nl.sbuf)


def loaded(parts):
    tiles = []
    for part in parts:
        tile = new(part)
        nisa.dma_copy(dst=tile, src=part)
        tiles.append(tile)
    return tiles


def turned(one, other, sign):
    """COSINE * one + sign * SINE * other."""
    part, result = new(one), new(one)
    nisa.tensor_scalar(dst=part, data=one, op0=nl.multiply, operand0=COSINE)
    nisa.scalar_tensor_tensor(dst=result, data=other, op0=nl.multiply, operand0=sign * SINE, op1=nl.add, operand1=part)
    return result


def product(one, other):
    result = new(one)
    nisa.tensor_tensor(dst=result, data1=one, data2=other, op=nl.multiply)
    return result


def added(total, part):
    nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)


def inner(one, other):
    """The sum of products of four parts."""
    total = product(one[0], other[0])
    for n in range(1, 4):
        added(total, product(one[n], other[n]))
    return total


@nki.jit
def kernel(a0, a1, a2, a3, b0, b1, b2, b3):
    """Eight times [128, N] -> [128, N]."""
    out = nl.ndarray(a0.shape, dtype=a0.dtype, buffer=nl.shared_hbm)
    one = loaded((a0, a1, a2, a3))
    b = loaded((b0, b1, b2, b3))
    other = [turned(b[0], b[1], -1.0), turned(b[1], b[0], 1.0), turned(b[2], b[3], 1.0), turned(b[3], b[2], -1.0)]
    lengths = product(inner(one, one), inner(other, other))
    nisa.reciprocal(dst=lengths, data=lengths)
    apart = new(a0)
    nisa.memset(dst=apart, value=0.0)
    for n in range(4):
        for m in range(n):
            part = product(one[n], other[m])
            nisa.tensor_tensor(dst=part, data1=part, data2=product(one[m], other[n]), op=nl.subtract)
            added(apart, product(part, part))
    nisa.tensor_tensor(dst=apart, data1=apart, data2=lengths, op=nl.multiply)
    nisa.dma_copy(dst=out, src=apart)
    return out
