"""A product in Beta 1 whose parts are summed in loops without an order: in PSUM by matmuls, blocks of K in SBUF."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import numpy as np

P, F, K, BLOCK = 32, 192, 32, 2


@nki.jit
def kernel(lhs, rhs):
    (rows, depth), columns = lhs.shape, rhs.shape[1]
    out = nl.ndarray((rows, columns), dtype=lhs.dtype, buffer=nl.shared_hbm)
    p, f, k, m = nl.arange(P)[:, None], nl.arange(F)[None, :], nl.arange(K)[:, None], nl.arange(K)[None, :]
    for i in nl.affine_range(rows // P):
        for j in nl.affine_range(columns // F):
            total = nl.zeros((nl.par_dim(P), F), dtype=np.float32, buffer=nl.sbuf)
            for block in nl.affine_range(depth // (K * BLOCK)):
                product = nl.zeros((nl.par_dim(P), F), dtype=np.float32, buffer=nl.psum)
                for part in nl.affine_range(BLOCK):
                    at = (block * BLOCK + part) * K
                    product += nl.matmul(nl.load(lhs[i * P + p, at + m]), nl.load(rhs[at + k, j * F + f]))
                total[p, f] += product
            nl.store(out[i * P + p, j * F + f], total[p, f])
    return out
