"""One step of Lion, one instruction per step of the formula."""

import nki
import nki.isa as nisa
import nki.language as nl

RATE, DECAY = 1e-2, 0.1
BETAS = (0.9, 0.99)


def load(source):
    """A tensor of HBM, brought into SBUF."""
    tile = nl.ndarray(source.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def mixed(one, other, beta):
    """beta * one + (1 - beta) * other."""
    less, result = (
        nl.ndarray(one.shape, dtype=nl.float32, buffer=nl.sbuf),
        nl.ndarray(one.shape, dtype=nl.float32, buffer=nl.sbuf),
    )
    nisa.tensor_scalar(dst=less, data=other, op0=nl.multiply, operand0=1 - beta)
    nisa.scalar_tensor_tensor(dst=result, data=one, op0=nl.multiply, operand0=beta, op1=nl.add, operand1=less)
    return result


@nki.jit
def kernel(theta, grad, m):
    """theta, grad and m [64, 96] -> the new theta and the new m."""
    new_theta = nl.ndarray(theta.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    new_m = nl.ndarray(theta.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    weights, slope, first = load(theta), load(grad), load(m)
    way, step = mixed(first, slope, BETAS[0]), mixed(first, slope, BETAS[1])
    nisa.activation(dst=way, op=nl.sign, data=way)
    nisa.tensor_scalar(dst=way, data=way, op0=nl.multiply, operand0=RATE)
    nisa.tensor_scalar(dst=weights, data=weights, op0=nl.multiply, operand0=1 - RATE * DECAY)
    nisa.tensor_tensor(dst=weights, data1=weights, data2=way, op=nl.subtract)
    nisa.dma_copy(dst=new_theta, src=weights)
    nisa.dma_copy(dst=new_m, src=step)
    return new_theta, new_m
