"""Products with constants, unit by unit, and their sums."""

import nki
import nki.isa as nisa
import nki.language as nl

UNITS = 4


@nki.jit
def kernel(codes):
    """codes [M, N] -> [M, 4]."""
    rows, width = codes.shape
    out = nl.ndarray((rows, UNITS), dtype=nl.float32, buffer=nl.shared_hbm)
    raw = nl.ndarray((rows, width), dtype=codes.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=raw, src=codes)
    total = nl.ndarray((rows, UNITS), dtype=nl.float32, buffer=nl.sbuf)
    for unit in range(UNITS):
        weights = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
        for place in range(width):
            weight = (37 * (unit + 5) * (place + 3) + 11 * unit**2 + 101 * place**3 // 7) % 15 - 7
            nisa.memset(dst=weights[:, place : place + 1], value=float(weight))
        product = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=product, data1=raw, data2=weights, op=nl.multiply)
        nisa.tensor_reduce(dst=total[:, unit : unit + 1], op=nl.add, data=product, axis=1)
    result = nl.ndarray((rows, UNITS), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=total)
    nisa.dma_copy(dst=out, src=result)
    return out
