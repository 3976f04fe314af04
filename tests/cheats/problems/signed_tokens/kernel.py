"""Gathers rows by numbers of 32 bits, of which those below zero name none."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(table, tokens):
    """table [V, D], tokens [M, 1] -> [M, D]."""
    _, width = table.shape
    count, _ = tokens.shape
    out = nl.ndarray((count, width), dtype=nl.float32, buffer=nl.shared_hbm)
    narrow = nl.ndarray((count, 1), dtype=nl.int8, buffer=nl.sbuf)
    nisa.dma_copy(dst=narrow, src=tokens)
    rows = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=rows, src=narrow)
    tile = nl.ndarray((count, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=1.0)
    source = table.ap(pattern=[[width, count], [1, width]], offset=0, vector_offset=rows, indirect_dim=0)
    nisa.dma_copy(dst=tile, src=source, oob_mode=nisa.oob_mode.skip)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
