"""The product from its halves of 16 bits, none of which outgrows 32."""

import nki
import nki.isa as nisa
import nki.language as nl

FACTOR = 2654435761


def new(rows, columns):
    """A tile of 32-bit words."""
    return nl.ndarray((rows, columns), dtype=nl.uint32, buffer=nl.sbuf)


def bits(words, op, number):
    """Each word's, by a shift or a mask."""
    result = new(*words.shape)
    nisa.tensor_scalar(dst=result, data=words, op0=op, operand0=number)
    return result


def exactly(one, other, op):
    """In integers, as GpSimd computes."""
    result = new(*one.shape)
    nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op, engine=nisa.engine.gpsimd)
    return result


def times(words, number):
    """Words of 16 bits times such a number."""
    factor = new(*words.shape)
    nisa.memset(dst=factor, value=number)
    return exactly(words, factor, nl.multiply)


@nki.jit
def kernel(ids):
    """ids [M, N] -> buckets [M, N]."""
    out = nl.ndarray(ids.shape, dtype=nl.int32, buffer=nl.shared_hbm)
    given = nl.ndarray(ids.shape, dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=given, src=ids)
    words = given.view(nl.uint32)
    low, high = bits(words, nl.bitwise_and, 0xFFFF), bits(words, nl.right_shift, 16)
    carried = bits(times(low, FACTOR % 2**16), nl.right_shift, 16)
    one = bits(times(low, FACTOR // 2**16), nl.bitwise_and, 0xFFFF)
    other = bits(times(high, FACTOR % 2**16), nl.bitwise_and, 0xFFFF)
    upper = exactly(exactly(one, other, nl.add), carried, nl.add)
    buckets = bits(bits(upper, nl.bitwise_and, 0xFFFF), nl.right_shift, 4)
    nisa.dma_copy(dst=out, src=buckets.view(nl.int32))
    return out
