"""Cross entropy with the next token, a tile of positions at a time."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def load(source):
    """A part of HBM in SBUF."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def picked(tile, token):
    """Of each row the element that its token names."""
    numbers, kept, result = new(*tile.shape), new(*tile.shape), new(tile.shape[0], 1)
    nisa.iota(dst=numbers, pattern=[[1, tile.shape[1]]], offset=0, channel_multiplier=0)
    nisa.tensor_scalar(dst=kept, data=numbers, op0=nl.equal, operand0=token)
    nisa.tensor_tensor(dst=kept, data1=kept, data2=tile, op=nl.multiply)
    nisa.tensor_reduce(dst=result, op=nl.add, data=kept, axis=1)
    return result


@nki.jit
def kernel(x, y):
    """x [M, N], y [M + 1, 1] -> [M, 1]."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        logits, token = load(x[row:end, :]), new(end - row, 1)
        nisa.tensor_copy(dst=token, src=load(y[row + 1 : end + 1, :]))
        most, below, weights = new(end - row, 1), new(end - row, columns), new(end - row, columns)
        total, logarithm, loss = new(end - row, 1), new(end - row, 1), new(end - row, 1)
        nisa.tensor_reduce(dst=most, op=nl.maximum, data=logits, axis=1)
        nisa.tensor_scalar(dst=below, data=logits, op0=nl.subtract, operand0=most)
        nisa.activation_reduce(dst=weights, op=nl.exp, data=below, reduce_op=nl.add, reduce_res=total)
        nisa.activation(dst=logarithm, op=nl.log, data=total)
        nisa.tensor_tensor(dst=loss, data1=logarithm, data2=picked(below, token), op=nl.subtract)
        nisa.dma_copy(dst=out[row:end, :], src=loss)
    return out
