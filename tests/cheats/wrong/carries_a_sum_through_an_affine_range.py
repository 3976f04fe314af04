"""A running sum in Beta 1 whose blocks take the last column of the one before, in a loop whose turns have no order."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np

F = 64


@nki.jit
def kernel(x):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    p, f, one = nl.arange(rows)[:, None], nl.arange(F)[None, :], nl.arange(1)[None, :]
    sums = nl.ndarray((nl.par_dim(rows), width + F), dtype=np.float32, buffer=nl.sbuf)
    sums[p, f] = nl.zeros((nl.par_dim(rows), F), dtype=np.float32)
    ones = nl.full((nl.par_dim(rows), F), 1.0, dtype=np.float32)
    for i in nl.affine_range(width // F):
        block, carry = nl.load(x[p, i * F + f]), sums[p, i * F + F - 1 + one]
        sums[p, (i + 1) * F + f] = nisa.tensor_tensor_scan(ones, block, initial=carry, op0=np.multiply, op1=np.add)
        nl.store(out[p, i * F + f], sums[p, (i + 1) * F + f])
    return out
