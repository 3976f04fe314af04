"""Lines in one tile; the variance of what is left of them without their mean."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

P = 128


def new(shape):
    """A tile."""
    return nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)


def mean(data):
    """Of each row [128, 1]."""
    found = new((P, 1))
    nisa.tensor_reduce(dst=found, op=nl.add, data=data, axis=1)
    nisa.tensor_scalar(dst=found, data=found, op0=nl.multiply, operand0=1.0 / data.shape[1])
    return found


def variance(light, middle):
    """Of each row [128, 1]."""
    rest = new(light.shape)
    nisa.tensor_scalar(dst=rest, data=light, op0=nl.subtract, operand0=middle)
    nisa.tensor_tensor(dst=rest, data1=rest, data2=rest, op=nl.multiply)
    return mean(rest)


@nki.jit
def kernel(counts):
    """counts [128, N] -> [128, N]."""
    width = counts.shape[1]
    out = nl.ndarray(counts.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    table = (0.6 + 0.5 * np.cos(np.arange(48) * 0.37) ** 2 + 0.3 * np.sin(np.arange(48) * 1.7)).astype(np.float32)
    gains, light, inverse = new((P, width)), new((P, width)), new((P, 1))
    nisa.dma_copy(dst=gains, src=nl.shared_constant(table.reshape((1, 48))).broadcast(0, P))
    raw = nl.ndarray((P, width), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=raw, src=counts)
    nisa.tensor_copy(dst=light, src=raw)
    nisa.tensor_tensor(dst=light, data1=light, data2=gains, op=nl.multiply)
    middle = mean(light)
    spread = variance(light, middle)
    nisa.tensor_scalar(dst=inverse, data=spread, op0=nl.add, operand0=1.0)
    nisa.activation(dst=inverse, op=nl.sqrt, data=inverse)
    nisa.reciprocal(dst=inverse, data=inverse)
    nisa.tensor_scalar(dst=light, data=light, op0=nl.subtract, operand0=middle, op1=nl.multiply, operand1=inverse)
    nisa.dma_copy(dst=out, src=light)
    return out
