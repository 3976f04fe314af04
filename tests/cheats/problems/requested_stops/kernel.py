"""Tokens up to each row's stop sequence: comparisons, their product, and a scan of what came before."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
PLACES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)


def new(columns, dtype):
    """A tile of all partitions."""
    return nl.ndarray((P, columns), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(tokens, stop):
    """tokens [128, N], stop [128, K] -> [128, N]."""
    width, length = tokens.shape[1], stop.shape[1]
    ends = width - length + 1
    out = nl.ndarray(tokens.shape, dtype=tokens.dtype, buffer=nl.shared_hbm)
    data, kept, raw, asked = new(width, nl.int32), new(width, nl.int32), new(length, nl.int32), new(length, nl.float32)
    nisa.dma_copy(dst=data, src=tokens)
    nisa.dma_copy(dst=raw, src=stop)
    nisa.tensor_copy(dst=asked, src=raw)
    met, one, gone, zero = new(ends, nl.float32), new(ends, nl.float32), new(width, nl.float32), new(width, nl.float32)
    nisa.memset(dst=met, value=1.0)
    for place in PLACES:
        nisa.tensor_scalar(
            dst=one, data=data[:, place : place + ends], op0=nl.equal, operand0=asked[:, place : place + 1]
        )
        nisa.tensor_tensor(dst=met, data1=met, data2=one, op=nl.multiply)
    nisa.memset(dst=gone, value=0.0)
    nisa.tensor_copy(dst=gone[:, length:width], src=met[:, 0 : ends - 1])
    nisa.tensor_tensor_scan(dst=zero, data0=gone, data1=gone, initial=0.0, op0=nl.maximum, op1=nl.maximum)
    nisa.tensor_scalar(dst=zero, data=zero, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=1.0)
    nisa.tensor_tensor(dst=kept, data1=data, data2=zero, op=nl.multiply)
    nisa.dma_copy(dst=out, src=kept)
    return out
