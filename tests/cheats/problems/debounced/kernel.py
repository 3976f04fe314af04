"""A switch that two numbers in a row turn, one scan along each row."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(columns):
    """A float32 tile of all partitions."""
    return nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def kernel(x):
    """x [128, N] -> [128, N]."""
    width = x.shape[1]
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    data, before, on, open_, state = (new(width) for _ in range(5))
    nisa.dma_copy(dst=data, src=x)
    nisa.tensor_scalar(dst=data, data=data, op0=nl.greater, operand0=1.0)
    nisa.memset(dst=before, value=0.0)
    nisa.tensor_copy(dst=before[:, 1:width], src=data[:, 0 : width - 1])
    nisa.tensor_tensor(dst=on, data1=data, data2=before, op=nl.multiply)
    nisa.tensor_tensor(dst=open_, data1=data, data2=before, op=nl.not_equal)
    nisa.tensor_tensor_scan(dst=state, data0=open_, data1=on, initial=0.0, op0=nl.multiply, op1=nl.add)
    nisa.dma_copy(dst=out, src=state)
    return out
