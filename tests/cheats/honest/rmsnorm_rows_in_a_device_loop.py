"""Loops over whole tiles of rows on the device and takes the rest apart."""

import nki
import nki.isa as nisa
import nki.language as nl

P = 64


@nki.jit
def kernel(x, gain, eps):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    gains = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gains, src=gain.reshape((1, width)).broadcast(0, P))
    blocks, results = (t.reshape((rows // P, P, width)) for t in (x, out))

    def block(index):
        tile = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=blocks.select(0, index))
        squares = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
        total = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
        scale = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=scale, data=total, op0=nl.multiply, operand0=1.0 / width, op1=nl.add, operand1=eps)
        nisa.activation(dst=scale, op=nl.rsqrt, data=scale)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=scale)
        nisa.tensor_tensor(dst=tile, data1=tile, data2=gains, op=nl.multiply)
        nisa.dma_copy(dst=results.select(0, index), src=tile)

    nl.fori_loop(0, rows // P, block)
    return out
