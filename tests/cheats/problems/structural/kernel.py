"""Structural characters: a scan for the parity of backslashes, and one for that of quotes."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
QUOTE, BACKSLASH = 34.0, 92.0
STRUCTURAL = (123.0, 125.0, 91.0, 93.0, 58.0, 44.0)


def new(columns):
    """A tile of all partitions."""
    return nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def kernel(text):
    """text [128, N] -> [128, N]."""
    width = text.shape[1]
    out = nl.ndarray(text.shape, dtype=text.dtype, buffer=nl.shared_hbm)
    data = nl.ndarray((P, width), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=data, src=text)
    slash, turned, odd, escaped = new(width), new(width), new(width), new(width)
    nisa.tensor_scalar(dst=slash, data=data, op0=nl.equal, operand0=BACKSLASH)
    nisa.tensor_scalar(dst=turned, data=slash, op0=nl.multiply, operand0=-1.0)
    nisa.tensor_tensor_scan(dst=odd, data0=turned, data1=slash, initial=0.0, op0=nl.multiply, op1=nl.add)
    nisa.memset(dst=escaped, value=0.0)
    nisa.tensor_copy(dst=escaped[:, 1:width], src=odd[:, 0 : width - 1])
    quote, flip, inside = new(width), new(width), new(width)
    nisa.tensor_scalar(dst=quote, data=data, op0=nl.equal, operand0=QUOTE)
    nisa.tensor_tensor(dst=quote, data1=quote, data2=escaped, op=nl.greater)
    nisa.tensor_scalar(dst=flip, data=quote, op0=nl.multiply, operand0=-2.0, op1=nl.add, operand1=1.0)
    nisa.tensor_tensor_scan(dst=inside, data0=flip, data1=quote, initial=0.0, op0=nl.multiply, op1=nl.add)
    met, one = new(width), new(width)
    nisa.memset(dst=met, value=0.0)
    for mark in STRUCTURAL:
        nisa.tensor_scalar(dst=one, data=data, op0=nl.equal, operand0=mark)
        nisa.tensor_tensor(dst=met, data1=met, data2=one, op=nl.add)
    nisa.tensor_tensor(dst=met, data1=met, data2=inside, op=nl.greater)
    kept = nl.ndarray((P, width), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=kept, data1=data, data2=met, op=nl.multiply)
    nisa.dma_copy(dst=out, src=kept)
    return out
