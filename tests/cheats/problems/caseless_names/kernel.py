"""Compares names in small letters."""

import nki
import nki.isa as nisa
import nki.language as nl


def lower(source):
    """A text in small letters, as float32."""
    whole = nl.ndarray(source.shape, dtype=nl.int32, buffer=nl.sbuf)
    text, low, high = [nl.ndarray(source.shape, dtype=nl.float32, buffer=nl.sbuf) for _ in range(3)]
    nisa.dma_copy(dst=whole, src=source)
    nisa.tensor_copy(dst=text, src=whole)
    nisa.tensor_scalar(dst=low, data=text, op0=nl.greater_equal, operand0=65.0)
    nisa.scalar_tensor_tensor(dst=high, data=text, op0=nl.less_equal, operand0=90.0, op1=nl.multiply, operand1=low)
    nisa.scalar_tensor_tensor(dst=text, data=high, op0=nl.multiply, operand0=32.0, op1=nl.add, operand1=text)
    return text


@nki.jit
def kernel(one, other):
    """one, other [M, N] -> [M, 1]."""
    rows, width = one.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    same = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=same, data1=lower(one), data2=lower(other), op=nl.equal)
    result = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=result, op=nl.minimum, data=same, axis=1)
    nisa.dma_copy(dst=out, src=result)
    return out
