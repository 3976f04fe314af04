"""Tokens up to the end of the text or a stop sequence: comparisons, their products, and a scan of what came before."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
END = 50256.0
STOPS = (
    (198.0, 198.0, 21017.0, 4225.0, 2762.0, 18261.0, 25.0),
    (27.0, 91.0, 320.0, 62.0, 9688.0, 29.0, 7220.0),
    (7479.0, 1212.0, 318.0, 262.0, 886.0, 13.0),
)


def new(columns, dtype):
    """A tile of all partitions."""
    return nl.ndarray((P, columns), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(tokens):
    """tokens [128, N] -> [128, N]."""
    width = tokens.shape[1]
    out = nl.ndarray(tokens.shape, dtype=tokens.dtype, buffer=nl.shared_hbm)
    data, kept = new(width, nl.int32), new(width, nl.int32)
    nisa.dma_copy(dst=data, src=tokens)
    ended, gone, state = new(width, nl.float32), new(width, nl.float32), new(width, nl.float32)
    nisa.tensor_scalar(dst=ended, data=data, op0=nl.equal, operand0=END)
    for stop in STOPS:
        ends = width - len(stop) + 1
        met, one = new(ends, nl.float32), new(ends, nl.float32)
        nisa.tensor_scalar(dst=met, data=data[:, 0:ends], op0=nl.equal, operand0=stop[0])
        for place in range(1, len(stop)):
            nisa.tensor_scalar(dst=one, data=data[:, place : place + ends], op0=nl.equal, operand0=stop[place])
            nisa.tensor_tensor(dst=met, data1=met, data2=one, op=nl.multiply)
        last = ended[:, len(stop) - 1 : width]
        nisa.tensor_tensor(dst=last, data1=last, data2=met, op=nl.maximum)
    nisa.memset(dst=gone, value=0.0)
    nisa.tensor_copy(dst=gone[:, 1:width], src=ended[:, 0 : width - 1])
    nisa.tensor_tensor_scan(dst=state, data0=gone, data1=gone, initial=0.0, op0=nl.maximum, op1=nl.maximum)
    nisa.tensor_scalar(dst=state, data=state, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=1.0)
    nisa.tensor_tensor(dst=kept, data1=data, data2=state, op=nl.multiply)
    nisa.dma_copy(dst=out, src=kept)
    return out
