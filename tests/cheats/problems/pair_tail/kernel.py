"""Mean loss of pairs, a tile of rows at a time; its last sum is over partitions."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
FAR = 3.0e38


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def combined(one, other, op):
    """Two tiles, element by element, or a tile and a number or one of each row."""
    result = new(*one.shape)
    if isinstance(other, float) or other.shape[1] < one.shape[1]:
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def reduced(tile, op):
    """Of each row one number."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def apply(tile, function):
    """An activation of each element."""
    result = new(*tile.shape)
    nisa.activation(dst=result, op=function, data=tile)
    return result


@nki.jit
def kernel(x):
    """x [M, M] -> [1, 1]."""
    rows, columns = x.shape
    out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.psum)
    ones = new(P, columns)
    nisa.memset(dst=ones, value=1.0)
    for row in range(0, rows, P):
        size = min(P, rows - row)
        pairs, others, positive = new(size, columns), new(size, columns), new(size, columns)
        nisa.dma_copy(dst=pairs, src=x[row : row + size, :])
        diagonal = {"pattern": [[-1, columns]], "channel_multiplier": 1, "cmp_op": nl.equal, "offset": row}
        nisa.affine_select(dst=positive, on_true_tile=pairs, on_false_value=0.0, **diagonal)
        away = new(size, columns)
        nisa.affine_select(dst=away, on_true_tile=ones[0:size, :], on_false_value=0.0, **diagonal)
        nisa.tensor_tensor(dst=others, data1=pairs, data2=positive, op=nl.subtract)
        nisa.tensor_tensor(dst=others, data1=others, data2=combined(away, FAR, nl.multiply), op=nl.subtract)
        own, most = reduced(positive, nl.add), reduced(others, nl.maximum)
        near = combined(combined(others, most, nl.subtract), -200.0, nl.maximum)
        weights = reduced(apply(near, nl.exp), nl.add)
        weigh = combined(combined(most, own, nl.subtract), apply(weights, nl.log), nl.add)
        loss = apply(weigh, nl.softplus)
        nisa.nc_matmul(dst=total, stationary=loss, moving=ones[0:size, 0:1])
    mean = combined(total, 1.0 / rows, nl.multiply)
    nisa.dma_copy(dst=out, src=mean)
    return out
