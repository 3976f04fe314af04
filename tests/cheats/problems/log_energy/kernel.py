"""log sum x^2: silent frames are told before the logarithm."""

import nki
import nki.isa as nisa
import nki.language as nl

P = 128


@nki.jit
def kernel(x):
    """x [M, N] -> [M, 1]."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        size = min(P, rows - row)
        tile = nl.ndarray((size, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[row : row + size, :])
        energy = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.multiply)
        nisa.tensor_reduce(dst=energy, op=nl.add, data=tile, axis=1)
        none = nl.ndarray((size, 1), dtype=nl.uint8, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=none, data=energy, op0=nl.equal, operand0=0.0)
        nisa.tensor_copy_predicated(dst=energy, src=1.0, predicate=none)
        nisa.activation(dst=energy, op=nl.log, data=energy)
        nisa.tensor_copy_predicated(dst=energy, src=-100.0, predicate=none)
        nisa.dma_copy(dst=out[row : row + size, :], src=energy)
    return out
