"""Counts less those of whole turns, which are rounded and corrected."""

import nki
import nki.isa as nisa
import nki.language as nl

TURN = 100000.0


@nki.jit
def kernel(counts):
    """counts [M, N] -> [M, N]."""
    rows, width = counts.shape
    out = nl.ndarray((rows, width), dtype=nl.int32, buffer=nl.shared_hbm)
    whole = nl.ndarray((rows, width), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=whole, src=counts)
    data = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=data, src=whole)
    turns = nl.ndarray((rows, width), dtype=nl.int32, buffer=nl.sbuf)
    # the middle of a turn is never on a half
    nisa.tensor_scalar(dst=turns, data=data, op0=nl.add, operand0=1.0 - TURN / 2, op1=nl.multiply, operand1=1.0 / TURN)
    full = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=full, src=turns)
    left = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.scalar_tensor_tensor(dst=left, data=full, op0=nl.multiply, operand0=-TURN, op1=nl.add, operand1=data)
    # a rounding may have taken one turn too many, or too few
    low = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=low, data=left, op0=nl.less, operand0=0.0)
    nisa.scalar_tensor_tensor(dst=left, data=low, op0=nl.multiply, operand0=TURN, op1=nl.add, operand1=left)
    high = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=high, data=left, op0=nl.greater_equal, operand0=TURN)
    nisa.scalar_tensor_tensor(dst=left, data=high, op0=nl.multiply, operand0=-TURN, op1=nl.add, operand1=left)
    result = nl.ndarray((rows, width), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=left)
    nisa.dma_copy(dst=out, src=result)
    return out
