"""Copies each half of a row to the other's place, bit for bit."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """x [M, N] -> [M, N]."""
    rows, width = x.shape
    half = width // 2
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    swapped = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=swapped[:, :half], src=tile[:, half:])
    nisa.tensor_copy(dst=swapped[:, half:], src=tile[:, :half])
    nisa.dma_copy(dst=out, src=swapped)
    return out
