"""An image over another one, a tile of rows at a time."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def load(source):
    """A part of HBM in SBUF."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def combined(one, other, op):
    """Two tiles, element by element."""
    result = nl.ndarray(one.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


@nki.jit
def kernel(front, back, alpha):
    """front, back and alpha [M, N] -> [M, N]."""
    rows, width = front.shape
    out = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        over, under, share = load(front[row:end, :]), load(back[row:end, :]), load(alpha[row:end, :])
        rest = nl.ndarray((end - row, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=rest, data=share, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=1.0)
        mixed = combined(combined(share, over, nl.multiply), combined(rest, under, nl.multiply), nl.add)
        nisa.dma_copy(dst=out[row:end, :], src=mixed)
    return out
