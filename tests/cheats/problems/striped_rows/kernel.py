"""Differences, their magnitudes, and the sum."""

import nki
import nki.isa as nisa
import nki.language as nl

APART = 12


@nki.jit
def kernel(pixels):
    """pixels [M, N] -> [M, 1]."""
    rows, width = pixels.shape
    out = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, width), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=pixels)
    apart = nl.ndarray((rows, width - APART), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=apart, data1=tile[:, APART:width], data2=tile[:, 0 : width - APART], op=nl.subtract)
    nisa.activation(dst=apart, op=nl.abs, data=apart)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=apart, axis=1)
    whole = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=whole, src=total)
    nisa.dma_copy(dst=out, src=whole)
    return out
