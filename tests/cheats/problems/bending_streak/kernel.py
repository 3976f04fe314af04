"""How many steps each row has bent downwards up to its end, 64 rows at a time."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(shape, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def numbers(source):
    """Integers as float32."""
    whole, result = new(source.shape, nl.int32), new(source.shape)
    nisa.dma_copy(dst=whole, src=source)
    nisa.tensor_copy(dst=result, src=whole)
    return result


@nki.jit
def kernel(x):
    """x [M, N] -> [M, 1]."""
    rows, width = x.shape
    out = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    data, whole, places = numbers(x), new(x.shape, nl.int32), new(x.shape)
    nisa.iota(dst=whole, pattern=[[1, width]], offset=0, channel_multiplier=0)
    nisa.tensor_copy(dst=places, src=whole)
    step = new((rows, width - 1))
    nisa.tensor_tensor(dst=step, data1=data[:, 1:width], data2=data[:, 0 : width - 1], op=nl.subtract)
    ends = new((rows, width - 1))
    nisa.memset(dst=ends, value=0.0)
    bent = ends[:, 1 : width - 1]
    nisa.tensor_tensor(dst=bent, data1=step[:, 1 : width - 1], data2=step[:, 0 : width - 2], op=nl.greater_equal)
    nisa.tensor_tensor(dst=ends, data1=ends, data2=places[:, 1:width], op=nl.multiply)
    last, result = new((rows, 1)), new((rows, 1), nl.int32)
    nisa.tensor_reduce(dst=last, op=nl.maximum, data=ends, axis=1)
    nisa.tensor_scalar(dst=result, data=last, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=float(width - 1))
    nisa.dma_copy(dst=out, src=result)
    return out
