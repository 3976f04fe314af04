"""Turns pairs of neighbours; angles are within the table of sines, and half of one tells the cosine."""

import nki
import nki.isa as nisa
import nki.language as nl

ROWS, PAIRS = 128, 32


def new(columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((ROWS, columns), dtype=nl.float32, buffer=nl.sbuf)


def both(one, other, op):
    """Two tiles, element by element."""
    result = new(PAIRS)
    nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def sine(angles):
    """Of angles within half a turn."""
    result = new(PAIRS)
    nisa.activation(dst=result, op=nl.sin, data=angles)
    return result


def cosine(angles):
    """One less twice the square of the half angle's sine."""
    half, result = new(PAIRS), new(PAIRS)
    nisa.activation(dst=half, op=nl.sin, data=angles, scale=0.5)
    nisa.tensor_scalar(
        dst=result, data=both(half, half, nl.multiply), op0=nl.multiply, operand0=-2.0, op1=nl.add, operand1=1.0
    )
    return result


@nki.jit
def kernel(x, angles):
    """x [128, 64], angles [128, 32] -> [128, 64]."""
    out = nl.ndarray((ROWS, 2 * PAIRS), dtype=nl.float32, buffer=nl.shared_hbm)
    tile, turns, result = new(2 * PAIRS), new(PAIRS), new(2 * PAIRS)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=turns, src=angles)
    real, imaginary = tile[:, 0 : 2 * PAIRS : 2], tile[:, 1 : 2 * PAIRS : 2]
    across, along = cosine(turns), sine(turns)
    for place, (first, second, op) in enumerate(((real, imaginary, nl.subtract), (imaginary, real, nl.add))):
        turned = both(both(first, across, nl.multiply), both(second, along, nl.multiply), op)
        nisa.tensor_copy(dst=result[:, place : 2 * PAIRS : 2], src=turned)
    nisa.dma_copy(dst=out, src=result)
    return out
