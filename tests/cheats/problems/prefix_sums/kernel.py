"""Each row's sum up to one position of a long cache, in chunks of which only those count that the position reaches."""

import nki
import nki.isa as nisa
import nki.language as nl

CHUNK = 512


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(x, last):
    """x [M, N], last [1, 1] -> [M, 1]."""
    rows, width = x.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    number, position = new(rows, 1, nl.int32), new(rows, 1)
    nisa.dma_copy(dst=number, src=last.broadcast(0, rows))
    nisa.tensor_copy(dst=position, src=number)
    sums = new(rows, width // CHUNK)
    for start in range(0, width, CHUNK):
        tile, place, reached, kept = new(rows, CHUNK), new(rows, CHUNK), new(rows, 1), new(rows, CHUNK)
        nisa.dma_copy(dst=tile, src=x[:, start : start + CHUNK])
        nisa.iota(dst=place, pattern=[[1, CHUNK]], offset=start, channel_multiplier=0)
        nisa.tensor_scalar(dst=reached, data=position, op0=nl.greater_equal, operand0=float(start))
        nisa.tensor_scalar(
            dst=kept, data=place, op0=nl.less_equal, operand0=position, op1=nl.multiply, operand1=reached
        )
        nisa.tensor_tensor(dst=kept, data1=kept, data2=tile, op=nl.multiply)
        nisa.tensor_reduce(dst=sums[:, start // CHUNK : start // CHUNK + 1], op=nl.add, data=kept, axis=1)
    total = new(rows, 1)
    nisa.tensor_reduce(dst=total, op=nl.add, data=sums, axis=1)
    nisa.dma_copy(dst=out, src=total)
    return out
