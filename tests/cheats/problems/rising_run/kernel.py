"""The longest rising subsequence, place by place."""

import nki
import nki.isa as nisa
import nki.language as nl

BACK = 96


@nki.jit
def kernel(values):
    """values [M, N] -> [M, 1]."""
    rows, width = values.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    raw = nl.ndarray((rows, width), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=raw, src=values)
    data = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=data, src=raw)
    longest = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=longest, value=1.0)
    for place in range(1, width):
        low = max(0, place - BACK)
        part = nl.ndarray((rows, place - low), dtype=nl.float32, buffer=nl.sbuf)
        best = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=part, data=data[:, low:place], op0=nl.less, operand0=data[:, place : place + 1], op1=nl.multiply,
            operand1=longest[:, low:place],
        )  # fmt: skip
        nisa.tensor_reduce(dst=best, op=nl.maximum, data=part, axis=1)
        nisa.tensor_scalar(dst=longest[:, place : place + 1], data=best, op0=nl.add, operand0=1.0)
    top = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=top, op=nl.maximum, data=longest, axis=1)
    nisa.dma_copy(dst=out, src=top)
    return out
