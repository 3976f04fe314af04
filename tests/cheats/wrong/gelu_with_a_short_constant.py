"""Has a constant with too few digits."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


@nki.jit
def kernel(x, bias):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    biases = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=biases, src=bias.reshape((1, width)).broadcast(0, P))
    for start in range(0, rows, P):
        size = min(P, rows - start)
        y = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=y, src=x[start : start + size, :])
        nisa.tensor_tensor(dst=y, data1=y, data2=biases[0:size, :], op=nl.add)
        inner = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=inner, data1=y, data2=y, op=nl.multiply)
        nisa.tensor_scalar(dst=inner, data=inner, op0=nl.multiply, operand0=0.0447, op1=nl.add, operand1=1.0)
        nisa.tensor_tensor(dst=inner, data1=inner, data2=y, op=nl.multiply)
        nisa.activation(dst=inner, op=nl.tanh, data=inner, scale=0.7978845608028654)
        nisa.tensor_scalar(dst=inner, data=inner, op0=nl.add, operand0=1.0, op1=nl.multiply, operand1=0.5)
        result = nl.ndarray((size, width), dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=inner, data2=y, op=nl.multiply)
        nisa.dma_copy(dst=out[start : start + size, :], src=result)
    return out
