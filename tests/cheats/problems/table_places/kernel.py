"""Counts how many entries are below each number."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(tables, numbers):
    """tables [128, N], numbers [128, 8] -> [128, 8]."""
    (height, width), count = tables.shape, numbers.shape[1]
    out = nl.ndarray((height, count), dtype=tables.dtype, buffer=nl.shared_hbm)
    data = nl.ndarray((height, width), dtype=nl.float32, buffer=nl.sbuf)
    wanted, found = (nl.ndarray((height, count), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2))
    nisa.dma_copy(dst=data, src=tables)
    nisa.dma_copy(dst=wanted, src=numbers)
    for place in range(count):
        below = nl.ndarray((height, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=below, data=data, op0=nl.less, operand0=wanted[:, place : place + 1])
        nisa.tensor_reduce(dst=found[:, place : place + 1], op=nl.add, data=below, axis=1)
    nisa.dma_copy(dst=out, src=found)
    return out
