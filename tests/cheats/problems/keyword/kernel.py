"""Logarithms of sums over paths, frame after frame; speakers on partitions."""

import nki
import nki.isa as nisa
import nki.language as nl

STATES = [2, 4, 2, 1, 2, 5, 2, 0, 2]
BLANK = 2


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
    letters = new(*source.shape)
    nisa.dma_copy(dst=letters, src=source)
    nisa.tensor_scalar(dst=letters, data=letters, op0=nl.multiply, operand0=8.0, op1=nl.subtract, operand1=8.0)
    tile = new(source.shape[0], len(STATES))
    for state, letter in enumerate(STATES):
        nisa.tensor_copy(dst=tile[:, state : state + 1], src=letters[:, letter : letter + 1])
    return tile


def moved(path, value):
    """Each state has what the one before it had."""
    result = filled(*path.shape, value)
    nisa.tensor_copy(dst=result[:, 1:], src=path[:, : path.shape[1] - 1])
    return result


def skipped(path, value):
    """Each letter has what the letter before it had."""
    result = filled(*path.shape, value)
    for state, letter in enumerate(STATES):
        if state > 1 and letter != BLANK:
            nisa.tensor_copy(dst=result[:, state : state + 1], src=path[:, state - 2 : state - 1])
    return result


def begun(tile, value):
    """What a tile holds in the first two states."""
    result = filled(*tile.shape, value)
    nisa.tensor_copy(dst=result[:, 0:2], src=tile[:, 0:2])
    return result


@nki.jit
def kernel(x):
    """x [T, B, C] -> [B, 1]."""
    frames, speakers, _ = x.shape
    out = nl.ndarray((speakers, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    path = begun(scores(x[0, :, :]), -1e30)
    for t in range(1, frames):
        before, skips = moved(path, -1e30), skipped(path, -1e30)
        largest = combined(combined(path, before, nl.maximum), skips, nl.maximum)
        stays = function(combined(path, largest, nl.subtract), nl.exp)
        goes_on = function(combined(before, largest, nl.subtract), nl.exp)
        leaps = function(combined(skips, largest, nl.subtract), nl.exp)
        total = combined(combined(stays, goes_on, nl.add), leaps, nl.add)
        path = combined(scores(x[t, :, :]), combined(largest, function(total, nl.log), nl.add), nl.add)
    last = path[:, len(STATES) - 2 : len(STATES)]
    largest = reduced(last, nl.maximum)
    total = reduced(function(combined(last, largest, nl.subtract), nl.exp), nl.add)
    nisa.dma_copy(dst=out, src=combined(largest, function(total, nl.log), nl.add))
    return out
