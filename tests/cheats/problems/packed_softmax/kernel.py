"""The product of the halves of each row, and its softmax."""

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
    """x [M, N] -> [M, N / 2]."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns // 2), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        one, other = halves(x[row:end, :])
        scores = combined(one, other, nl.multiply)
        largest = reduced(scores, nl.maximum)
        weights = function(nl.exp, combined(scores, largest, nl.subtract))
        nisa.dma_copy(dst=out[row:end, :], src=combined(weights, inverse(reduced(weights, nl.add)), nl.multiply))
    return out
