"""What is in each bin, by comparisons with its ends; the first one also has a whole turn."""

import nki
import nki.isa as nisa
import nki.language as nl

P, BINS, WIDE = 128, 18, 20.0


def new(columns):
    """A tile."""
    return nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)


def within(angles, place):
    """Ones where a bin has them [128, N]."""
    below, mine = new(angles.shape[1]), new(angles.shape[1])
    nisa.tensor_scalar(dst=below, data=angles, op0=nl.less, operand0=WIDE * (place + 1))
    nisa.tensor_scalar(dst=mine, data=angles, op0=nl.greater_equal, operand0=WIDE * place)
    nisa.tensor_tensor(dst=mine, data1=mine, data2=below, op=nl.multiply)
    return mine


@nki.jit
def kernel(angles, weights):
    """angles [128, N], weights [128, N] -> [128, 18]."""
    width = angles.shape[1]
    out = nl.ndarray((P, BINS), dtype=angles.dtype, buffer=nl.shared_hbm)
    data, strength, bins = new(width), new(width), new(BINS)
    nisa.dma_copy(dst=data, src=angles)
    nisa.dma_copy(dst=strength, src=weights)
    for place in range(BINS):
        mine, turned = within(data, place), new(width)
        if place == 0:
            nisa.tensor_scalar(dst=turned, data=data, op0=nl.greater_equal, operand0=WIDE * BINS)
            nisa.tensor_tensor(dst=mine, data1=mine, data2=turned, op=nl.add)
        nisa.tensor_tensor(dst=mine, data1=mine, data2=strength, op=nl.multiply)
        nisa.tensor_reduce(dst=bins[:, place : place + 1], op=nl.add, data=mine, axis=1)
    nisa.dma_copy(dst=out, src=bins)
    return out
