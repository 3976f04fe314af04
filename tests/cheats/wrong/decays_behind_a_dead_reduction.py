"""Carries a sum through nl.affine_range, whose first turn nl.loop_reduce seems to need first."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np

F = 32


@nki.jit
def kernel(x):
    rows, width = x.shape
    out = nl.ndarray((rows, F), dtype=x.dtype, buffer=nl.shared_hbm)
    kept = nl.ndarray((rows, F), dtype=x.dtype, buffer=nl.hbm)
    p, f, one = nl.arange(rows)[:, None], nl.arange(F)[None, :], nl.arange(1)[None, :]
    nl.store(kept[p, f], nl.zeros((nl.par_dim(rows), F), dtype=np.float32))
    row = nisa.iota(p + 0 * one, dtype=np.int32)
    idle = nl.ndarray((nl.par_dim(rows), F), dtype=np.float32, buffer=nl.sbuf)
    for i in nl.affine_range(2):
        for j in nl.sequential_range(width // F // 2):
            block = nl.load(x[p, i * (width // 2) + j * F + f])
            half = nl.multiply(nl.load(kept[row[p, one], f]), 0.5)
            nl.store(kept[row[p, one], f], nl.add(half, block))
        idle[p, f] = nl.loop_reduce(nl.load(x[p, i * F + f]), op=np.add, loop_indices=[i])
    nl.store(out[p, f], nl.load(kept[p, f]))
    return out
