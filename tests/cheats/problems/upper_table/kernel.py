"""Rows of the upper half; others are multiplied by nothing."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(table, tokens):
    """table [V, D], tokens [T, 1] -> [T, D]."""
    count, width = tokens.shape[0], table.shape[1]
    half = table.shape[0] // 2
    out = nl.ndarray((count, width), dtype=table.dtype, buffer=nl.shared_hbm)
    at = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=at, src=tokens)
    kept = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=kept, data=at, op0=nl.greater_equal, operand0=float(half))
    rows = nl.ndarray((count, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=table.ap(pattern=[[width, count], [1, width]], vector_offset=at, indirect_dim=0))
    nisa.tensor_scalar(dst=rows, data=rows, op0=nl.multiply, operand0=kept)
    nisa.dma_copy(dst=out, src=rows)
    return out
