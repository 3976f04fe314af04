"""A mask of all bits where two neighbours differ in any."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(columns):
    """Integers in all partitions."""
    return nl.ndarray((P, columns), dtype=nl.int32, buffer=nl.sbuf)


@nki.jit
def kernel(tokens):
    """-> [M, N]."""
    width = tokens.shape[1]
    out = nl.ndarray(tokens.shape, dtype=tokens.dtype, buffer=nl.shared_hbm)
    held, same = new(width), new(width - 1)
    nisa.dma_copy(dst=held, src=tokens)
    nisa.tensor_tensor(dst=same, data1=held[:, 1:width], data2=held[:, 0 : width - 1], op=nl.bitwise_xor)
    nisa.tensor_scalar(dst=same, data=same, op0=nl.equal, operand0=0.0)
    nisa.tensor_scalar(dst=same, data=same, op0=nl.subtract, operand0=1.0)
    kept = new(width)
    nisa.tensor_copy(dst=kept[:, 0:1], src=held[:, 0:1])
    nisa.tensor_tensor(dst=kept[:, 1:width], data1=held[:, 1:width], data2=same, op=nl.bitwise_and)
    nisa.dma_copy(dst=out, src=kept)
    return out
