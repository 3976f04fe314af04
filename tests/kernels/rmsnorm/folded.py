"""RMSNorm with neighbouring rows on each partition: few, large transfers, which leave less to overlap on few rows."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
PARTITION_ELEMENTS = 8192
"""Elements of a row block per partition: large transfers that still leave room for a second block in SBUF."""


def block(x, out, gains, eps, start, partitions, fold):
    """Rows ``start`` to ``start + partitions * fold``, ``fold`` neighbours on each partition."""
    width = x.shape[1]
    end = start + partitions * fold
    shape = (partitions, fold, width)
    tile = nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[start:end, :].reshape(shape))
    squares = nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((partitions, fold), dtype=nl.float32, buffer=nl.sbuf)
    for row in range(fold):
        nisa.activation(
            dst=squares[:, row, :],
            op=nl.square,
            data=tile[:, row, :],
            reduce_op=nl.add,
            reduce_res=total[:, row : row + 1],
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
    scale = nl.ndarray((partitions, fold), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=scale, op=nl.rsqrt, data=total, scale=1.0 / width, bias=eps)
    result = nl.ndarray(shape, dtype=out.dtype, buffer=nl.sbuf)
    for row in range(fold):
        nisa.scalar_tensor_tensor(
            dst=result[:, row, :],
            data=tile[:, row, :],
            op0=nl.multiply,
            operand0=scale[:, row : row + 1],
            op1=nl.multiply,
            operand1=gains[0:partitions, :],
        )
    nisa.dma_copy(dst=out[start:end, :].reshape(shape), src=result)


@nki.jit
def kernel(x, gain, eps):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    gains = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gains, src=gain.reshape((1, width)).broadcast(0, P))
    most = max(1, PARTITION_ELEMENTS // width)
    start = 0
    while start < rows:
        fold = max(1, min(most, (rows - start) // P))
        partitions = min(P, rows - start)
        block(x, out, gains, eps, start, partitions, fold)
        start += partitions * fold
    return out
