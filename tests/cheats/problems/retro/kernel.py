"""Pair after pair from both ends inwards; rows on partitions."""

import nki
import nki.isa as nisa
import nki.language as nl

FIFTH = 7.0
PAIRS = 32


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(notes):
    """notes [M, S] -> [M, 1]."""
    rows, length = notes.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    whole, played = new(rows, length, nl.int32), new(rows, length)
    so_far, count = new(rows, 1), new(rows, 1)
    nisa.dma_copy(dst=whole, src=notes)
    nisa.tensor_copy(dst=played, src=whole)
    nisa.memset(dst=so_far, value=1.0)
    nisa.memset(dst=count, value=0.0)
    for place in range(PAIRS):
        first, last = played[:, place : place + 1], played[:, length - 1 - place : length - place]
        answered = new(rows, 1)
        nisa.tensor_tensor(dst=answered, data1=last, data2=first, op=nl.subtract)
        nisa.tensor_scalar(dst=answered, data=answered, op0=nl.equal, operand0=FIFTH)
        nisa.tensor_tensor(dst=so_far, data1=so_far, data2=answered, op=nl.multiply)
        nisa.tensor_tensor(dst=count, data1=count, data2=so_far, op=nl.add)
    nisa.dma_copy(dst=out, src=count)
    return out
