"""Takes 384 positions at a time, the last ones first."""

import nki
import nki.isa as nisa
import nki.language as nl

WIDTH = 384


def combine(first, second, cosine, sine, op):
    """first * cosine (op) second * sine, all [D/2, positions]."""
    kept = nl.ndarray(first.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=kept, data1=first, data2=cosine, op=nl.multiply)
    turned = nl.ndarray(first.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=turned, data1=second, data2=sine, op=nl.multiply)
    result = nl.ndarray(first.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=result, data1=kept, data2=turned, op=op)
    return result


def load(source):
    """A part of HBM, brought into SBUF."""
    tile = nl.ndarray(source.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


@nki.jit
def kernel(x, cos, sin):
    """x [D, L], cos and sin [D/2, L], D at most 256 -> [D, L]."""
    features, positions = x.shape
    half = features // 2
    out = nl.ndarray((features, positions), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in reversed(range(0, positions, WIDTH)):
        end = min(start + WIDTH, positions)
        upper = load(x[0:half, start:end])
        lower = load(x[half:features, start:end])
        cosine = load(cos[:, start:end])
        sine = load(sin[:, start:end])
        nisa.dma_copy(dst=out[0:half, start:end], src=combine(upper, lower, cosine, sine, nl.subtract))
        nisa.dma_copy(dst=out[half:features, start:end], src=combine(lower, upper, cosine, sine, nl.add))
    return out
