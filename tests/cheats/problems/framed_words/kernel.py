"""The largest word of each frame, times whether its weighted sum is the one that it is told."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns, buffer=nl.sbuf):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=buffer)


@nki.jit
def kernel(words, sums):
    """words [128, N], sums [128, 1] -> [128, 1]."""
    rows, columns = words.shape
    out = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    tile, told = new(rows, columns), new(rows, 1)
    raw = nl.ndarray((rows, columns), dtype=nl.int32, buffer=nl.sbuf)
    given = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=raw, src=words)
    nisa.dma_copy(dst=given, src=sums)
    nisa.tensor_copy(dst=tile, src=raw)
    nisa.tensor_copy(dst=told, src=given)
    weights, terms = new(rows, columns), new(rows, columns)
    total, right, most = new(rows, 1), new(rows, 1), new(rows, 1)
    nisa.iota(dst=weights, pattern=[[1, columns]], offset=1)
    nisa.tensor_tensor(dst=terms, data1=tile, data2=weights, op=nl.multiply)
    nisa.tensor_reduce(dst=total, op=nl.add, data=terms, axis=1)
    nisa.tensor_tensor(dst=right, data1=total, data2=told, op=nl.equal)
    nisa.tensor_reduce(dst=most, op=nl.maximum, data=tile, axis=1)
    nisa.tensor_tensor(dst=most, data1=most, data2=right, op=nl.multiply)
    result = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=most)
    nisa.dma_copy(dst=out, src=result)
    return out
