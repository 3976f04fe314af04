"""Each sample's sign, and that of the last one before it that was not nothing, place by place."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(shape, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(x):
    """x [M, N] -> [M, N]."""
    rows, width = x.shape
    out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
    data, up, down, sign, held = [new(x.shape) for _ in range(5)]
    whole = new(x.shape, nl.int32)
    nisa.dma_copy(dst=data, src=x)
    nisa.tensor_scalar(dst=up, data=data, op0=nl.greater, operand0=0.0)
    nisa.tensor_scalar(dst=down, data=data, op0=nl.less, operand0=0.0)
    nisa.tensor_tensor(dst=sign, data1=up, data2=down, op=nl.subtract)
    nisa.memset(dst=held, value=0.0)
    for back in range(1, width):
        free, size = new((rows, width - back)), width - back
        nisa.tensor_scalar(dst=free, data=held[:, back:width], op0=nl.equal, operand0=0.0)
        nisa.tensor_tensor(dst=free, data1=free, data2=sign[:, 0:size], op=nl.multiply)
        nisa.tensor_tensor(dst=held[:, back:width], data1=held[:, back:width], data2=free, op=nl.add)
    nisa.tensor_tensor(dst=held, data1=held, data2=sign, op=nl.multiply)
    nisa.tensor_scalar(dst=held, data=held, op0=nl.less, operand0=0.0)
    nisa.tensor_copy(dst=whole, src=held)
    nisa.dma_copy(dst=out, src=whole)
    return out
