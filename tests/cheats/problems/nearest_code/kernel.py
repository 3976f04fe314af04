"""How far the nearest of several codes is: each difference, its square, the smallest sum."""

import nki
import nki.isa as nisa
import nki.language as nl

ROWS, CODES, WIDTH = 128, 64, 16


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def squares(tile):
    """Each row's sum of squares."""
    squared, result = new(*tile.shape), new(tile.shape[0], 1)
    nisa.tensor_tensor(dst=squared, data1=tile, data2=tile, op=nl.multiply)
    nisa.tensor_reduce(dst=result, op=nl.add, data=squared, axis=1)
    return result


@nki.jit
def kernel(x, codes):
    """x [128, 16], codes [64, 16] -> [128, 1]."""
    out = nl.ndarray((ROWS, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    tile, table, far = new(ROWS, WIDTH), new(CODES, WIDTH), new(ROWS, CODES)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=table, src=codes)
    for code in range(CODES):
        one, away = new(ROWS, WIDTH), new(ROWS, WIDTH)
        nisa.dma_copy(dst=one, src=codes[code : code + 1, :].broadcast(0, ROWS))
        nisa.tensor_tensor(dst=away, data1=tile, data2=one, op=nl.subtract)
        nisa.tensor_copy(dst=far[:, code : code + 1], src=squares(away))
    nearest = new(ROWS, 1)
    nisa.tensor_reduce(dst=nearest, op=nl.minimum, data=far, axis=1)
    nisa.dma_copy(dst=out, src=nearest)
    return out
