"""Binary cross entropy of each row, a tile of rows at a time."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def load(source):
    """A part of HBM in SBUF."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def new(rows, columns):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def combined(one, other, op):
    """Two tiles, element by element, or a tile and a number."""
    result = new(*one.shape)
    if isinstance(other, float):
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def negative(tile):
    """Each element's opposite."""
    return combined(tile, -1.0, nl.multiply)


@nki.jit
def kernel(x, t):
    """x [M, N], t [M, N] -> [M, 1]."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        logits, labels = load(x[row:end, :]), load(t[row:end, :])
        others = combined(negative(labels), 1.0, nl.add)
        tail, total = new(end - row, columns), new(end - row, 1)
        nisa.activation(dst=tail, op=nl.softplus, data=negative(combined(logits, negative(logits), nl.maximum)))
        if_one = combined(combined(negative(logits), 0.0, nl.maximum), tail, nl.add)
        if_zero = combined(combined(logits, 0.0, nl.maximum), tail, nl.add)
        losses = combined(combined(labels, if_one, nl.multiply), combined(others, if_zero, nl.multiply), nl.add)
        nisa.tensor_reduce(dst=total, op=nl.add, data=losses, axis=1)
        nisa.dma_copy(dst=out[row:end, :], src=combined(total, 1.0 / columns, nl.multiply))
    return out
