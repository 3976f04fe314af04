"""The cosine of the angle between the halves of each row."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def load(source):
    """A part of HBM in SBUF."""
    tile = new(*source.shape)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def new(rows, columns):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def combined(one, other, op):
    """Two tiles, element by element; a number, or what has one column, is the same in all of them."""
    result = new(*one.shape)
    if isinstance(other, float) or (other.shape[1] == 1 and one.shape[1] != 1):
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def function(op, tile):
    """Of each element."""
    result = new(*tile.shape)
    nisa.activation(dst=result, op=op, data=tile)
    return result


def reduced(tile, op):
    """Each row's sum or largest element, [P, 1]."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def inverse(tile):
    """One divided by each element."""
    result = new(*tile.shape)
    nisa.reciprocal(dst=result, data=tile)
    return result


def halves(source):
    """The left and the right half of rows in HBM."""
    half = source.shape[1] // 2
    return load(source[:, :half]), load(source[:, half:])


@nki.jit
def kernel(x):
    """x [M, N] -> [M, 1]."""
    rows, _ = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        one, other = halves(x[row:end, :])
        met = reduced(combined(one, other, nl.multiply), nl.add)
        lengths = [function(nl.sqrt, reduced(combined(half, half, nl.multiply), nl.add)) for half in (one, other)]
        below = combined(combined(lengths[0], 1e-8, nl.maximum), combined(lengths[1], 1e-8, nl.maximum), nl.multiply)
        nisa.dma_copy(dst=out[row:end, :], src=combined(met, inverse(below), nl.multiply))
    return out
