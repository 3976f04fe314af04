"""Each sample's sign, and that of the last one before it that was not nothing; channels on partitions."""

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


STEPS, CHANNELS, BACK = 128, 64, 127


@nki.jit
def kernel(x):
    """x [T, channels] -> the same."""
    out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
    data = numbers(x.ap([[1, CHANNELS], [CHANNELS, STEPS]]))
    up, down, sign, held = [new((CHANNELS, STEPS)) for _ in range(4)]
    whole = new((CHANNELS, STEPS), nl.int32)
    nisa.tensor_scalar(dst=up, data=data, op0=nl.greater, operand0=0.0)
    nisa.tensor_scalar(dst=down, data=data, op0=nl.less, operand0=0.0)
    nisa.tensor_tensor(dst=sign, data1=up, data2=down, op=nl.subtract)
    nisa.memset(dst=held, value=0.0)
    for back in range(1, BACK + 1):
        size = STEPS - back
        free = new((CHANNELS, size))
        nisa.tensor_scalar(dst=free, data=held[:, back:STEPS], op0=nl.equal, operand0=0.0)
        nisa.tensor_tensor(dst=free, data1=free, data2=sign[:, 0:size], op=nl.multiply)
        nisa.tensor_tensor(dst=held[:, back:STEPS], data1=held[:, back:STEPS], data2=free, op=nl.add)
    nisa.tensor_tensor(dst=held, data1=held, data2=sign, op=nl.multiply)
    nisa.tensor_scalar(dst=held, data=held, op0=nl.less, operand0=0.0)
    nisa.tensor_copy(dst=whole, src=held)
    nisa.dma_copy(dst=out.ap([[1, CHANNELS], [CHANNELS, STEPS]]), src=whole)
    return out
