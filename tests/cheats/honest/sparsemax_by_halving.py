"""Sparsemax by halving: the threshold lies between the largest less one and the largest, then it is computed."""

import nki
import nki.isa as nisa
import nki.language as nl

ROWS, WIDTH, TURNS = 64, 48, 26


def new(columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((ROWS, columns), dtype=nl.float32, buffer=nl.sbuf)


def above(tile, threshold):
    """What is more than a threshold, and by how much all of it."""
    over, whole = new(WIDTH), new(1)
    nisa.tensor_scalar(dst=over, data=tile, op0=nl.subtract, operand0=threshold, op1=nl.maximum, operand1=0.0)
    nisa.tensor_reduce(dst=whole, op=nl.add, data=over, axis=1)
    return over, whole


@nki.jit
def kernel(x):
    """x [64, 48] -> [64, 48]."""
    out = nl.ndarray((ROWS, WIDTH), dtype=nl.float32, buffer=nl.shared_hbm)
    tile, largest, scores, low = new(WIDTH), new(1), new(WIDTH), new(1)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=tile, axis=1)
    nisa.tensor_scalar(dst=scores, data=tile, op0=nl.subtract, operand0=largest)
    nisa.memset(dst=low, value=-1.0)
    step = 1.0
    for _ in range(TURNS):
        step = step / 2
        middle, more, next_low = new(1), new(1), new(1)
        nisa.tensor_scalar(dst=middle, data=low, op0=nl.add, operand0=step)
        _, whole = above(scores, middle)
        nisa.tensor_scalar(dst=more, data=whole, op0=nl.greater_equal, operand0=1.0, op1=nl.multiply, operand1=step)
        nisa.tensor_tensor(dst=next_low, data1=low, data2=more, op=nl.add)
        low = next_low
    support, inside, count, whole, part, threshold = new(WIDTH), new(WIDTH), new(1), new(1), new(1), new(1)
    nisa.tensor_scalar(dst=support, data=scores, op0=nl.greater, operand0=low)
    nisa.tensor_tensor(dst=inside, data1=support, data2=scores, op=nl.multiply)
    nisa.tensor_reduce(dst=count, op=nl.add, data=support, axis=1)
    nisa.tensor_reduce(dst=whole, op=nl.add, data=inside, axis=1)
    nisa.reciprocal(dst=part, data=count)
    nisa.tensor_scalar(dst=threshold, data=whole, op0=nl.add, operand0=-1.0, op1=nl.multiply, operand1=part)
    result, _ = above(scores, threshold)
    nisa.dma_copy(dst=out, src=result)
    return out
