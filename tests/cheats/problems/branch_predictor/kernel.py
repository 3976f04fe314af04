"""The counter's states step by step, and then all predictions at once."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def count_on(states, moves, first, last):
    """States from the first step's on."""
    nisa.memset(dst=states[:, first : first + 1], value=1.0)
    for step in range(first, last - 1):
        later = states[:, step + 1 : step + 2]
        nisa.tensor_scalar(
            dst=later, data=states[:, step : step + 1], op0=nl.add, operand0=moves[:, step : step + 1],
            op1=nl.maximum, operand1=0.0,
        )  # fmt: skip
        nisa.tensor_scalar(dst=later, data=later, op0=nl.minimum, operand0=3.0)


@nki.jit
def kernel(taken):
    """taken [128, N] -> [128, 1]."""
    rows, width = taken.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    raw = nl.ndarray((rows, width), dtype=taken.dtype, buffer=nl.sbuf)
    data, moves, states, wrong = new(rows, width), new(rows, width), new(rows, width), new(rows, 1)
    nisa.dma_copy(dst=raw, src=taken)
    nisa.tensor_copy(dst=data, src=raw)
    nisa.tensor_scalar(dst=moves, data=data, op0=nl.multiply, operand0=2.0, op1=nl.add, operand1=-1.0)
    count_on(states, moves, 0, width)
    nisa.tensor_scalar(dst=states, data=states, op0=nl.greater_equal, operand0=2.0)
    nisa.tensor_tensor(dst=states, data1=states, data2=data, op=nl.not_equal)
    nisa.tensor_reduce(dst=wrong, op=nl.add, data=states, axis=1)
    nisa.dma_copy(dst=out, src=wrong)
    return out
