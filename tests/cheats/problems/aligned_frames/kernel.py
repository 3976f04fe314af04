"""Logarithms of sums over paths, frame after frame; words on partitions."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def filled(rows, columns, value):
    """A tile of one number."""
    result = new(rows, columns)
    nisa.memset(dst=result, value=value)
    return result


def combined(one, other, op):
    """Two tiles, element by element; what has one column is the same in all of them."""
    result = new(*one.shape)
    if other.shape[1] == 1:
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def function(tile, op):
    """Of each element."""
    result = new(*tile.shape)
    nisa.activation(dst=result, op=op, data=tile)
    return result


def reduced(tile, op):
    """Along rows: [rows, 1]."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def scores(source):
    """What a frame adds to each state."""
    tile = new(*source.shape)
    nisa.dma_copy(dst=tile, src=source)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=8.0, op1=nl.subtract, operand1=4.0)
    return tile


def moved(path, value):
    """Each state has what the one before it had."""
    result = filled(*path.shape, value)
    nisa.tensor_copy(dst=result[:, 1:], src=path[:, : path.shape[1] - 1])
    return result


@nki.jit
def kernel(x):
    """x [T, B, S] -> [B, 1]."""
    frames, words, states = x.shape
    out = nl.ndarray((words, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    path = filled(words, states, -1e30)
    nisa.tensor_copy(dst=path[:, 0:1], src=scores(x[0, :, 0:1]))
    for t in range(1, frames):
        before = moved(path, -1e30)
        largest = combined(path, before, nl.maximum)
        stays = function(combined(path, largest, nl.subtract), nl.exp)
        goes_on = function(combined(before, largest, nl.subtract), nl.exp)
        either = combined(largest, function(combined(stays, goes_on, nl.add), nl.log), nl.add)
        path = combined(scores(x[t, :, :]), either, nl.add)
    largest = reduced(path, nl.maximum)
    total = reduced(function(combined(path, largest, nl.subtract), nl.exp), nl.add)
    nisa.dma_copy(dst=out, src=combined(largest, function(total, nl.log), nl.add))
    return out
