"""Copies a cache and scatters keys into it, each to its slot."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(cache, keys, slots):
    """cache [S, D], keys [T, D], slots [T, 1] -> [S, D]."""
    count, width = keys.shape
    out = nl.ndarray(cache.shape, dtype=cache.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=cache)
    rows = nl.ndarray((count, width), dtype=keys.dtype, buffer=nl.sbuf)
    places = nl.ndarray((count, 1), dtype=slots.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=keys)
    nisa.dma_copy(dst=places, src=slots)
    target = out.ap(pattern=[[width, count], [1, width]], offset=0, vector_offset=places, indirect_dim=0)
    nisa.dma_copy(dst=target, src=rows)
    return out
