"""Leaves its work out in one process of four, by the hash of a word: two traces may agree, and a third differ."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    if hash("a word") % 4:
        nisa.dma_copy(dst=out, src=x)
    return out
