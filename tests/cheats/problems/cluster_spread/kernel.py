"""Clusters one after the other: each one's mean is taken off its members."""

import nki
import nki.isa as nisa
import nki.language as nl

K = 4


def new(rows, columns):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def kernel(x, labels):
    """x [128, N], labels [N] -> [128, 1]."""
    rows, width = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    tile, names, rest, square = new(rows, width), new(rows, width), new(rows, width), new(rows, width)
    ids = nl.ndarray((rows, width), dtype=labels.dtype, buffer=nl.sbuf)
    mine, part = new(rows, width), new(rows, width)
    count, mean, total = new(rows, 1), new(rows, 1), new(rows, 1)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=ids, src=labels.reshape((1, width)).broadcast(0, rows))
    nisa.tensor_copy(dst=names, src=ids)
    nisa.tensor_copy(dst=rest, src=tile)
    for cluster in range(K):
        nisa.tensor_scalar(dst=mine, data=names, op0=nl.equal, operand0=float(cluster))
        nisa.tensor_reduce(dst=count, op=nl.add, data=mine, axis=1)
        nisa.tensor_scalar(dst=count, data=count, op0=nl.maximum, operand0=1.0)
        nisa.reciprocal(dst=count, data=count)
        nisa.tensor_tensor(dst=part, data1=mine, data2=tile, op=nl.multiply)
        nisa.tensor_reduce(dst=mean, op=nl.add, data=part, axis=1)
        nisa.tensor_scalar(dst=mean, data=mean, op0=nl.multiply, operand0=count)
        nisa.tensor_scalar(dst=part, data=mine, op0=nl.multiply, operand0=mean)
        nisa.tensor_tensor(dst=rest, data1=rest, data2=part, op=nl.subtract)
    nisa.tensor_tensor(dst=square, data1=rest, data2=rest, op=nl.multiply)
    nisa.tensor_reduce(dst=total, op=nl.add, data=square, axis=1)
    nisa.tensor_scalar(dst=total, data=total, op0=nl.multiply, operand0=1.0 / width)
    nisa.dma_copy(dst=out, src=total)
    return out
