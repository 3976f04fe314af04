"""Cells that are no obstacle are reached from those beside them, on a floor with a wall around it."""

import nki
import nki.isa as nisa
import nki.language as nl

H, W = 12, 12
WIDE = W + 2
ROUNDS = 96


def new(shape, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(occupied):
    """occupied [M, H * W] -> [M, H * W]."""
    rows, cells = occupied.shape
    out = nl.ndarray((rows, cells), dtype=nl.float32, buffer=nl.shared_hbm)
    whole, ways = new((rows, cells), nl.int32), new((rows, (H + 2) * WIDE))
    nisa.dma_copy(dst=whole, src=occupied)
    nisa.memset(dst=ways, value=0.0)
    for y in range(H):
        at = (y + 1) * WIDE + 1
        nisa.tensor_scalar(dst=ways[:, at : at + W], data=whole[:, y * W : (y + 1) * W], op0=nl.equal, operand0=0.0)
    reached = new((rows, (H + 2) * WIDE))
    nisa.memset(dst=reached, value=0.0)
    nisa.tensor_copy(dst=reached[:, WIDE + 1 : WIDE + 2], src=ways[:, WIDE + 1 : WIDE + 2])
    first, end = WIDE, (H + 1) * WIDE
    for _ in range(ROUNDS):
        after, one, other = new((rows, (H + 2) * WIDE)), new((rows, end - first)), new((rows, end - first))
        before, behind = reached[:, first - 1 : end - 1], reached[:, first + 1 : end + 1]
        nisa.tensor_tensor(dst=one, data1=before, data2=behind, op=nl.add)
        above, below = reached[:, first - WIDE : end - WIDE], reached[:, first + WIDE : end + WIDE]
        nisa.tensor_tensor(dst=other, data1=above, data2=below, op=nl.add)
        nisa.tensor_tensor(dst=one, data1=one, data2=other, op=nl.add)
        nisa.tensor_tensor(dst=one, data1=one, data2=reached[:, first:end], op=nl.add)
        nisa.tensor_tensor(dst=one, data1=one, data2=ways[:, first:end], op=nl.multiply)
        nisa.memset(dst=after, value=0.0)
        nisa.tensor_scalar(dst=after[:, first:end], data=one, op0=nl.greater, operand0=0.0)
        reached = after
    flat = new((rows, cells))
    for y in range(H):
        at = (y + 1) * WIDE + 1
        nisa.tensor_copy(dst=flat[:, y * W : (y + 1) * W], src=reached[:, at : at + W])
    nisa.dma_copy(dst=out, src=flat)
    return out
