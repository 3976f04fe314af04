"""Fetches a window at a register, the last one that fits where it does not, and takes it for nothing there."""

import nki
import nki.isa as nisa
import nki.language as nl

W = 8


@nki.jit
def kernel(x, start):
    """x [S, D], start [1, 1] -> [W, D]."""
    length, width = x.shape
    out = nl.ndarray((W, width), dtype=nl.float32, buffer=nl.shared_hbm)
    at = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=at, src=start)
    fits = nl.ndarray((W, 1), dtype=nl.float32, buffer=nl.sbuf)
    begins = nl.ndarray((W, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=begins, src=start.broadcast(0, W))
    nisa.tensor_scalar(dst=fits, data=begins, op0=nl.less_equal, operand0=float(length - W))
    nisa.tensor_scalar(dst=at, data=at, op0=nl.minimum, operand0=float(length - W))
    tile = nl.ndarray((W, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x.ap(pattern=[[width, W], [1, width]], offset=0, scalar_offset=at, indirect_dim=0))
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.greater, operand0=0.0, op1=nl.multiply, operand1=fits)
    nisa.dma_copy(dst=out, src=tile)
    return out
