"""Compares each row with its keys, one after the other."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(rows, keys):
    """rows [128, N], keys [128, 8] -> [128, 8]."""
    (height, width), count = rows.shape, keys.shape[1]
    out = nl.ndarray((height, count), dtype=rows.dtype, buffer=nl.shared_hbm)
    data = nl.ndarray((height, width), dtype=nl.float32, buffer=nl.sbuf)
    wanted, found = (nl.ndarray((height, count), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2))
    nisa.dma_copy(dst=data, src=rows)
    nisa.dma_copy(dst=wanted, src=keys)
    for key in range(count):
        equal = nl.ndarray((height, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=equal, data=data, op0=nl.equal, operand0=wanted[:, key : key + 1])
        nisa.tensor_reduce(dst=found[:, key : key + 1], op=nl.maximum, data=equal, axis=1)
    nisa.dma_copy(dst=out, src=found)
    return out
