"""Which cells are reached from the first: from each to those beside it, with walls around."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(shape, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def numbers(source):
    """Integers as float32."""
    whole, result = new(source.shape, nl.int32), new(source.shape)
    nisa.dma_copy(dst=whole, src=source)
    nisa.tensor_copy(dst=result, src=whole)
    return result


D, H, W = 6, 6, 6
WIDE, FLOOR = W + 2, (W + 2) * (H + 2)
STEPS = (1, -1, WIDE, -WIDE, FLOOR, -FLOOR)
ROUNDS = 130


@nki.jit
def kernel(free):
    """free [M, cells] -> [M, cells]."""
    rows, cells = free.shape
    out = nl.ndarray((rows, cells), dtype=nl.int32, buffer=nl.shared_hbm)
    size = FLOOR * (D + 2)
    ways, reached, data = new((rows, size)), new((rows, size)), numbers(free)
    nisa.memset(dst=ways, value=0.0)
    nisa.memset(dst=reached, value=0.0)
    for z in range(D):
        for y in range(H):
            at, place = (z + 1) * FLOOR + (y + 1) * WIDE + 1, (z * H + y) * W
            nisa.tensor_copy(dst=ways[:, at : at + W], src=data[:, place : place + W])
    first, end = FLOOR, size - FLOOR
    start = FLOOR + WIDE + 1
    nisa.tensor_copy(dst=reached[:, start : start + 1], src=ways[:, start : start + 1])
    for _ in range(ROUNDS):
        after, one = new((rows, size)), new((rows, end - first))
        nisa.tensor_copy(dst=after, src=reached)
        for step in STEPS:
            beside = reached[:, first + step : end + step]
            nisa.tensor_tensor(dst=one, data1=beside, data2=ways[:, first:end], op=nl.multiply)
            nisa.tensor_tensor(dst=after[:, first:end], data1=after[:, first:end], data2=one, op=nl.maximum)
        reached = after
    flat, whole = new((rows, cells)), new((rows, cells), nl.int32)
    for z in range(D):
        for y in range(H):
            at, place = (z + 1) * FLOOR + (y + 1) * WIDE + 1, (z * H + y) * W
            nisa.tensor_copy(dst=flat[:, place : place + W], src=reached[:, at : at + W])
    nisa.tensor_copy(dst=whole, src=flat)
    nisa.dma_copy(dst=out, src=whole)
    return out
