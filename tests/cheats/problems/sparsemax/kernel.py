"""Sparsemax: rows in falling order, eight at a time; the threshold is the largest of those that each support has."""

import nki
import nki.isa as nisa
import nki.language as nl

ROWS, WIDTH = 64, 48


def new(columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((ROWS, columns), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(x):
    """x [64, 48] -> [64, 48]."""
    out = nl.ndarray((ROWS, WIDTH), dtype=nl.float32, buffer=nl.shared_hbm)
    tile, largest = new(WIDTH), new(1)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=tile, axis=1)
    scores, left, falling = new(WIDTH), new(WIDTH), new(WIDTH)
    nisa.tensor_scalar(dst=scores, data=tile, op0=nl.subtract, operand0=largest)
    nisa.tensor_copy(dst=left, src=scores)
    for start in range(0, WIDTH, 8):
        rest = new(WIDTH)
        nisa.max8(dst=falling[:, start : start + 8], src=left)
        nisa.nc_match_replace8(dst=rest, data=left, vals=falling[:, start : start + 8], imm=-3.0e38)
        left = rest
    ones, sums, places, whole = new(WIDTH), new(WIDTH), new(WIDTH), new(WIDTH, nl.int32)
    nisa.memset(dst=ones, value=1.0)
    nisa.tensor_tensor_scan(dst=sums, data0=ones, data1=falling, initial=-1.0, op0=nl.multiply, op1=nl.add)
    nisa.iota(dst=whole, pattern=[[1, WIDTH]], offset=1, channel_multiplier=0)
    nisa.tensor_copy(dst=places, src=whole)
    parts, thresholds, threshold = new(WIDTH), new(WIDTH), new(1)
    nisa.reciprocal(dst=parts, data=places)
    nisa.tensor_tensor(dst=thresholds, data1=sums, data2=parts, op=nl.multiply)
    nisa.tensor_reduce(dst=threshold, op=nl.maximum, data=thresholds, axis=1)
    result = new(WIDTH)
    nisa.tensor_scalar(dst=result, data=scores, op0=nl.subtract, operand0=threshold, op1=nl.maximum, operand1=0.0)
    nisa.dma_copy(dst=out, src=result)
    return out
