"""Local alignment, a row of cells after the other; gaps along the target by a scan."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(columns, dtype=nl.float32):
    """A tile of all partitions."""
    return nl.ndarray((P, columns), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(read, target):
    """read [128, N], target [128, N] -> [128, 1]."""
    width = target.shape[1]
    out = nl.ndarray((P, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    letters, others = new(width, nl.int32), new(width, nl.int32)
    nisa.dma_copy(dst=letters, src=read)
    nisa.dma_copy(dst=others, src=target)
    one, two = new(width), new(width)
    nisa.tensor_copy(dst=one, src=letters)
    nisa.tensor_copy(dst=two, src=others)
    h, e, ramp, most, best = new(width + 1), new(width), new(width), new(1), new(1)
    nisa.memset(dst=h, value=0.0)
    nisa.memset(dst=e, value=-1000.0)
    nisa.iota(dst=ramp, pattern=[[1, width]], offset=0, channel_multiplier=0)
    nisa.memset(dst=best, value=0.0)
    for i in range(width):
        score, top, reach = new(width), new(width), new(width)
        nisa.tensor_scalar(dst=score, data=two, op0=nl.equal, operand0=one[:, i : i + 1], op1=nl.multiply, operand1=9.0)
        nisa.scalar_tensor_tensor(dst=top, data=score, op0=nl.add, operand0=-4.0, op1=nl.add, operand1=h[:, 0:width])
        before = h[:, 1 : width + 1]
        nisa.scalar_tensor_tensor(dst=e, data=before, op0=nl.subtract, operand0=10.0, op1=nl.maximum, operand1=e)
        nisa.tensor_scalar(dst=e, data=e, op0=nl.subtract, operand0=1.0)
        nisa.scalar_tensor_tensor(dst=top, data=top, op0=nl.maximum, operand0=0.0, op1=nl.maximum, operand1=e)
        nisa.tensor_tensor(dst=reach, data1=top, data2=ramp, op=nl.add)
        nisa.tensor_tensor_scan(dst=reach, data0=reach, data1=reach, initial=-3.0e38, op0=nl.maximum, op1=nl.maximum)
        nisa.tensor_tensor(dst=reach, data1=reach, data2=ramp, op=nl.subtract)
        nisa.tensor_copy(dst=h[:, 1 : width + 1], src=top)
        gap, here = reach[:, 0 : width - 1], top[:, 1:width]
        nisa.scalar_tensor_tensor(
            dst=h[:, 2 : width + 1], data=gap, op0=nl.subtract, operand0=11.0, op1=nl.maximum, operand1=here
        )
        nisa.tensor_reduce(dst=most, op=nl.maximum, data=top, axis=1)
        nisa.tensor_tensor(dst=best, data1=best, data2=most, op=nl.maximum)
    result = new(1, nl.int32)
    nisa.tensor_copy(dst=result, src=best)
    nisa.dma_copy(dst=out, src=result)
    return out
