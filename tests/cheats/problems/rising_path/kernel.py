"""The longest rising path: each cell takes one more than the longest that ends in a lower one beside it."""

import nki
import nki.isa as nisa
import nki.language as nl

H, W = 6, 6
WIDE = W + 2
ROUNDS = 35


def new(shape, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(heights):
    """heights [M, H * W] -> [M, 1]."""
    rows, cells = heights.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    high, whole = new((rows, (H + 2) * WIDE)), new((rows, cells))
    nisa.dma_copy(dst=whole, src=heights)
    nisa.memset(dst=high, value=3.0e38)
    for y in range(H):
        at = (y + 1) * WIDE + 1
        nisa.tensor_copy(dst=high[:, at : at + W], src=whole[:, y * W : (y + 1) * W])
    first, end = WIDE, (H + 1) * WIDE
    size = end - first
    own = high[:, first:end]
    steps = (-1, 1, -WIDE, WIDE)
    masks = []
    for step in steps:
        mask = new((rows, size))
        nisa.tensor_tensor(dst=mask, data1=high[:, first + step : end + step], data2=own, op=nl.less)
        masks.append(mask)
    length = new((rows, (H + 2) * WIDE))
    nisa.memset(dst=length, value=0.0)
    for y in range(H):
        at = (y + 1) * WIDE + 1
        nisa.memset(dst=length[:, at : at + W], value=1.0)
    ones = length
    for _ in range(ROUNDS):
        after, best = new((rows, (H + 2) * WIDE)), new((rows, size))
        nisa.memset(dst=after, value=0.0)
        nisa.memset(dst=best, value=0.0)
        for i in range(4):
            part, more = new((rows, size)), new((rows, size))
            step = steps[i]
            nisa.tensor_tensor(dst=part, data1=masks[i], data2=length[:, first + step : end + step], op=nl.multiply)
            nisa.tensor_tensor(dst=more, data1=best, data2=part, op=nl.maximum)
            best = more
        nisa.tensor_tensor(dst=after[:, first:end], data1=best, data2=ones[:, first:end], op=nl.add)
        length = after
    inner = new((rows, cells))
    for y in range(H):
        at = (y + 1) * WIDE + 1
        nisa.tensor_copy(dst=inner[:, y * W : (y + 1) * W], src=length[:, at : at + W])
    most = new((rows, 1))
    nisa.tensor_reduce(dst=most, op=nl.maximum, data=inner, axis=1)
    nisa.dma_copy(dst=out, src=most)
    return out
