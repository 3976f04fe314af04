"""Scores of all images in one product; what is an image's own is masked with what is below all."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def load(source):
    """A tile in SBUF of what lies in HBM."""
    result = new(source.shape[0], source.shape[1])
    nisa.dma_copy(dst=result, src=source)
    return result


def both(one, other, op):
    """Two tiles, element by element; or a tile and a number."""
    result = nl.ndarray(one.shape, dtype=nl.float32, buffer=nl.sbuf)
    if isinstance(other, float):
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def reduced(tile, op):
    """Along rows: [rows, 1]."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def turned(tile):
    """The transpose of a tile."""
    bank = nl.ndarray((tile.shape[1], tile.shape[0]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=bank, data=tile, engine=nisa.engine.tensor)
    result = new(tile.shape[1], tile.shape[0])
    nisa.tensor_copy(dst=result, src=bank)
    return result


def stored(tile):
    """A tile in HBM."""
    out = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


MARGIN = 0.5


@nki.jit
def kernel(one, two):
    """one, two [M, N] -> [M, 1]."""
    rows, width = one.shape
    first, second = load(one), load(two)
    keys, scores = new(width, 2 * rows), new(rows, 2 * rows)
    nisa.tensor_copy(dst=keys[:, 0:rows], src=turned(first))
    nisa.tensor_copy(dst=keys[:, rows : 2 * rows], src=turned(second))
    bank = nl.ndarray((rows, 2 * rows), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=bank, stationary=keys[:, 0:rows], moving=keys)
    nisa.tensor_copy(dst=scores, src=bank)
    for half in range(2):
        place = slice(half * rows, (half + 1) * rows)
        part = new(rows, rows)
        nisa.affine_select(
            dst=part,
            pattern=[[-1, rows]],
            channel_multiplier=1,
            on_true_tile=scores[:, place],
            on_false_value=-3.0e38,
            cmp_op=nl.not_equal,
            offset=0,
        )
        nisa.tensor_copy(dst=scores[:, place], src=part)
    positive = reduced(both(first, second, nl.multiply), nl.add)
    hardest = both(reduced(scores, nl.maximum), MARGIN, nl.add)
    return stored(both(hardest, positive, nl.subtract))
