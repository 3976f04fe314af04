"""Carries all digits by one place at a time, as often as a row has digits."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(one, other):
    """one, other [M, N] -> [M, N]."""
    rows, places = one.shape
    out = nl.ndarray((rows, places), dtype=nl.float32, buffer=nl.shared_hbm)
    first, second = (nl.ndarray((rows, places), dtype=one.dtype, buffer=nl.sbuf) for _ in range(2))
    nisa.dma_copy(dst=first, src=one)
    nisa.dma_copy(dst=second, src=other)
    total, carried = (nl.ndarray((rows, places), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2))
    nisa.tensor_tensor(dst=total, data1=first, data2=second, op=nl.add)
    for _ in range(places):
        nisa.tensor_scalar(dst=carried, data=total, op0=nl.greater_equal, operand0=10.0)
        nisa.scalar_tensor_tensor(dst=total, data=carried, op0=nl.multiply, operand0=-10.0, op1=nl.add, operand1=total)
        nisa.tensor_tensor(
            dst=total[:, 1:places], data1=total[:, 1:places], data2=carried[:, 0 : places - 1], op=nl.add
        )
    nisa.dma_copy(dst=out, src=total)
    return out
