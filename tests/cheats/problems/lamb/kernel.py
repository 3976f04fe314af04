"""One step of LAMB: each row's own rate is the ratio of two norms."""

import nki
import nki.isa as nisa
import nki.language as nl

RATE, DECAY, EPS = 1e-2, 0.01, 1e-6
BETAS = (0.9, 0.999)


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def load(source):
    """A tensor of HBM, brought into SBUF."""
    tile = new(*source.shape)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def both(one, other, op):
    """Two tiles, element by element, or a tile and a number or one of each row."""
    result = new(*one.shape)
    if isinstance(other, float) or other.shape[1] < one.shape[1]:
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def mixed(one, other, beta):
    """beta * one + (1 - beta) * other."""
    return both(both(one, beta, nl.multiply), both(other, 1 - beta, nl.multiply), nl.add)


def length(tile):
    """Each row's norm."""
    square = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=square, op=nl.add, data=both(tile, tile, nl.multiply), axis=1)
    result = new(tile.shape[0], 1)
    nisa.activation(dst=result, op=nl.sqrt, data=square)
    return result


def inverse(tile):
    """One through each element."""
    result = new(*tile.shape)
    nisa.reciprocal(dst=result, data=tile)
    return result


@nki.jit
def kernel(theta, grad, m, v):
    """theta, grad, m and v [64, 96] -> the new theta."""
    out = nl.ndarray(theta.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    weights, slope, root = load(theta), load(grad), new(*theta.shape)
    first = mixed(load(m), slope, BETAS[0])
    second = mixed(load(v), both(slope, slope, nl.multiply), BETAS[1])
    nisa.activation(dst=root, op=nl.sqrt, data=second)
    step = both(first, inverse(both(root, EPS, nl.add)), nl.multiply)
    step = both(step, both(weights, DECAY, nl.multiply), nl.add)
    long, short = length(weights), length(step)
    some, moves = both(long, 0.0, nl.greater), both(short, 0.0, nl.greater)
    still = both(moves, 0.0, nl.equal)
    ratio = both(long, inverse(both(short, still, nl.add)), nl.multiply)
    both_there = both(some, moves, nl.multiply)
    ratio = both(both(ratio, both_there, nl.multiply), both(both_there, 0.0, nl.equal), nl.add)
    ratio = both(ratio, RATE, nl.multiply)
    nisa.dma_copy(dst=out, src=both(weights, both(step, ratio, nl.multiply), nl.subtract))
    return out
