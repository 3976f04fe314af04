"""The largest of three neighbours less the middle one, divided by the root of its mean square."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def mean_square(tile):
    """Of each row, [P, 1]."""
    rows, columns = tile.shape
    squares, mean = new(rows, columns), new(rows, 1)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    nisa.tensor_reduce(dst=mean, op=nl.add, data=squares, axis=1)
    nisa.tensor_scalar(dst=mean, data=mean, op0=nl.multiply, operand0=1.0 / columns)
    return mean


@nki.jit
def kernel(x):
    """x [M, N] -> [M, N - 2]."""
    rows, columns = x.shape
    inner = columns - 2
    out = nl.ndarray((rows, inner), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        tile, below = new(P, columns), new(P, inner)
        nisa.dma_copy(dst=tile, src=x[start : start + P, :])
        nisa.tensor_tensor(dst=below, data1=tile[:, :inner], data2=tile[:, 1 : columns - 1], op=nl.maximum)
        nisa.tensor_tensor(dst=below, data1=below, data2=tile[:, 2:columns], op=nl.maximum)
        nisa.tensor_tensor(dst=below, data1=below, data2=tile[:, 1 : columns - 1], op=nl.subtract)
        square = mean_square(below)
        share = new(P, 1)
        nisa.tensor_scalar(dst=square, data=square, op0=nl.add, operand0=1.0e-12)
        nisa.activation(dst=share, op=nl.rsqrt, data=square)
        nisa.tensor_scalar(dst=below, data=below, op0=nl.multiply, operand0=share)
        nisa.dma_copy(dst=out[start : start + P, :], src=below)
    return out
