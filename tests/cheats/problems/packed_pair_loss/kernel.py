"""Loss of pairs whose scores lie side by side, one number; rows are added up on the tensor engine."""

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


def halves(source):
    """The left and the right half of rows in HBM."""
    half = source.shape[1] // 2
    return load(source[:, :half]), load(source[:, half:])


@nki.jit
def kernel(x):
    """x [M, N] -> [1, 1]."""
    rows, columns = x.shape
    out = nl.ndarray((1, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    total = new(1, 1)
    nisa.memset(dst=total, value=0.0)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        chosen, rejected = halves(x[row:end, :])
        lacking = combined(rejected, chosen, nl.subtract)
        sizes = combined(lacking, combined(lacking, -1.0, nl.multiply), nl.minimum)
        rest = function(nl.softplus, sizes)
        losses = combined(combined(lacking, 0.0, nl.maximum), rest, nl.add)
        ones, added = new(end - row, 1), nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.psum)
        nisa.memset(dst=ones, value=1.0)
        nisa.nc_matmul(dst=added, stationary=ones, moving=reduced(losses, nl.add))
        total = combined(total, added, nl.add)
    nisa.dma_copy(dst=out, src=combined(total, 2.0 / (rows * columns), nl.multiply))
    return out
