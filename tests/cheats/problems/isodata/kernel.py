"""Isodata's threshold of each row, in more turns than any of rows takes that are drawn."""

import nki
import nki.isa as nisa
import nki.language as nl

ROWS, WIDTH, TURNS = 128, 256, 128


def new(columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((ROWS, columns), dtype=dtype, buffer=nl.sbuf)


def total(tile):
    """Each row's sum."""
    result = new(1)
    nisa.tensor_reduce(dst=result, op=nl.add, data=tile, axis=1)
    return result


def mean_of(tile, level, op):
    """The mean of what lies on one side of the level, and whether there is anything."""
    side, some, count, part, mean, there = new(WIDTH), new(WIDTH), new(1), new(1), new(1), new(1)
    nisa.tensor_scalar(dst=side, data=tile, op0=op, operand0=level)
    nisa.tensor_tensor(dst=some, data1=tile, data2=side, op=nl.multiply)
    number = total(side)
    nisa.tensor_scalar(dst=count, data=number, op0=nl.maximum, operand0=1.0)
    nisa.reciprocal(dst=part, data=count)
    nisa.tensor_tensor(dst=mean, data1=total(some), data2=part, op=nl.multiply)
    nisa.tensor_scalar(dst=there, data=number, op0=nl.greater, operand0=0.0)
    return mean, there


@nki.jit
def kernel(x):
    """x [128, 256] -> [128, 1]."""
    out = nl.ndarray((ROWS, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    tile, level = new(WIDTH), new(1)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_reduce(dst=level, op=nl.minimum, data=tile, axis=1)
    for _ in range(TURNS):
        high, some = mean_of(tile, level, nl.greater)
        low, rest = mean_of(tile, level, nl.less_equal)
        both, middle, lone, kept, moved, after = new(1), new(1), new(1), new(1), new(1), new(1)
        nisa.tensor_tensor(dst=both, data1=some, data2=rest, op=nl.multiply)
        nisa.tensor_tensor(dst=middle, data1=high, data2=low, op=nl.add)
        nisa.tensor_scalar(dst=moved, data=middle, op0=nl.multiply, operand0=0.5, op1=nl.multiply, operand1=both)
        nisa.tensor_scalar(dst=lone, data=both, op0=nl.equal, operand0=0.0)
        nisa.tensor_tensor(dst=kept, data1=level, data2=lone, op=nl.multiply)
        nisa.tensor_tensor(dst=after, data1=moved, data2=kept, op=nl.add)
        level = after
    nisa.dma_copy(dst=out, src=level)
    return out
