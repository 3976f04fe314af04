"""Gathers rows by token, and clears those of padding."""

import nki
import nki.isa as nisa
import nki.language as nl

PADDING = 103


@nki.jit
def kernel(table, tokens):
    """table [V, D], tokens [M, 1] -> [M, D]."""
    _, width = table.shape
    count, _ = tokens.shape
    out = nl.ndarray((count, width), dtype=table.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=tokens)
    tile = nl.ndarray((count, width), dtype=nl.float32, buffer=nl.sbuf)
    source = table.ap(pattern=[[width, count], [1, width]], offset=0, vector_offset=rows, indirect_dim=0)
    nisa.dma_copy(dst=tile, src=source)
    kept = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=kept, data=rows, op0=nl.not_equal, operand0=float(PADDING))
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=kept)
    nisa.dma_copy(dst=out, src=tile)
    return out
