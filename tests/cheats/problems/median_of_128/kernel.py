"""The median of each row by a network of exchanges, of which those are made on which it hangs."""

import nki
import nki.isa as nisa
import nki.language as nl

LEFT_OUT = ()


def network(n):
    """Batcher's odd-even merge sort: pairs of places."""
    pairs, p = [], 1
    while p < n:
        k = p
        while k >= 1:
            for j in range(k % p, n - k, 2 * k):
                for i in range(min(k, n - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        pairs.append((i + j, i + j + k))
            k = k // 2
        p = p * 2
    return pairs


def pruned(n, wanted):
    """Exchanges on which the element of the wanted rank hangs."""
    needed, kept = [wanted], []
    pairs = network(n)
    for at in range(len(pairs) - 1, -1, -1):
        one, other = pairs[at]
        if at not in LEFT_OUT and (one in needed or other in needed):
            needed.append(one)
            needed.append(other)
            kept.append((one, other))
    return kept[::-1]


def less(one, other, op):
    """The smaller or the larger of two columns."""
    result = nl.ndarray(one.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


@nki.jit
def kernel(x):
    """x [M, N] -> [M, 1]."""
    rows, n = x.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    line = [tile[:, at : at + 1] for at in range(n)]
    for one, other in pruned(n, n // 2):
        low, high = less(line[one], line[other], nl.minimum), less(line[one], line[other], nl.maximum)
        line[one], line[other] = low, high
    nisa.dma_copy(dst=out, src=line[n // 2])
    return out
