"""Every text shifted against itself, up to half of its length; texts on partitions."""

import nki
import nki.isa as nisa
import nki.language as nl

LONGEST = 64


def new(shape, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(tokens):
    """tokens [M, S] -> [M, 1]."""
    texts, length = tokens.shape
    out = nl.ndarray((texts, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    whole, said, twice = new((texts, length), nl.int32), new((texts, length)), new((texts, 1))
    nisa.dma_copy(dst=whole, src=tokens)
    nisa.tensor_copy(dst=said, src=whole)
    nisa.memset(dst=twice, value=0.0)
    for size in range(1, LONGEST + 1):
        alike, all_alike = new((texts, size)), new((texts, 1))
        last, before = said[:, length - size : length], said[:, length - 2 * size : length - size]
        nisa.tensor_tensor(dst=alike, data1=last, data2=before, op=nl.equal)
        nisa.tensor_reduce(dst=all_alike, op=nl.minimum, data=alike, axis=1)
        nisa.tensor_tensor(dst=twice, data1=twice, data2=all_alike, op=nl.maximum)
    nisa.dma_copy(dst=out, src=twice)
    return out
