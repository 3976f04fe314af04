"""Four shifted products taken away, and the root of the mean square of what is left."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
TAPS = 4


def new(columns):
    """A tile of all partitions."""
    return nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)


def mean_square(rows):
    """Of each row."""
    width = rows.shape[1]
    squares, result = new(width), new(1)
    nisa.tensor_tensor(dst=squares, data1=rows, data2=rows, op=nl.multiply)
    nisa.tensor_reduce(dst=result, data=squares, op=nl.add, axis=1, keepdims=True)
    nisa.tensor_scalar(dst=result, data=result, op0=nl.multiply, operand0=1.0 / width)
    return result


@nki.jit
def kernel(x, taps):
    """-> [M, N - TAPS]."""
    rows, width = x.shape
    kept = width - TAPS
    out = nl.ndarray((rows, kept), dtype=x.dtype, buffer=nl.shared_hbm)
    frames, weights, rest, product = new(width), new(TAPS), new(kept), new(kept)
    nisa.dma_copy(dst=frames, src=x)
    nisa.dma_copy(dst=weights, src=taps)
    nisa.tensor_copy(dst=rest, src=frames[:, TAPS:width])
    for tap in range(TAPS):
        before = frames[:, TAPS - 1 - tap : width - 1 - tap]
        nisa.tensor_scalar(dst=product, data=before, op0=nl.multiply, operand0=weights[:, tap : tap + 1])
        nisa.tensor_tensor(dst=rest, data1=rest, data2=product, op=nl.subtract)
    strength = mean_square(rest)
    nisa.tensor_scalar(dst=strength, data=strength, op0=nl.power, operand0=-0.5)
    nisa.tensor_scalar(dst=rest, data=rest, op0=nl.multiply, operand0=strength)
    nisa.dma_copy(dst=out, src=rest)
    return out
