"""Divides by the bare deviation."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
WIDTH = 512


def load(source):
    """A part of HBM, brought into SBUF."""
    tile = nl.ndarray(source.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def scaled(tile, factor):
    """tile * factor."""
    result = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=result, data=tile, op0=nl.multiply, operand0=factor)
    return result


def combined(first, second, op):
    """first (op) second."""
    result = nl.ndarray(first.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=result, data1=first, data2=second, op=op)
    return result


def inverse_deviation(moment, correction, eps):
    """1 / (sqrt(moment / correction) + eps)."""
    root = nl.ndarray(moment.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=root, op=nl.sqrt, data=moment, scale=1.0 / correction)
    below = nl.ndarray(moment.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=below, data=root, op0=nl.add, operand0=eps)
    result = nl.ndarray(moment.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=result, data=below)
    return result


@nki.jit
def kernel(theta, grad, m, v, lr, beta1, beta2, eps, decay, step):
    """theta, grad, m and v [M, N] -> the new theta [M, N]."""
    rows, columns = theta.shape
    out = nl.ndarray((rows, columns), dtype=theta.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        row_end = min(row + P, rows)
        for column in range(0, columns, WIDTH):
            column_end = min(column + WIDTH, columns)
            slope = load(grad[row:row_end, column:column_end])
            first = load(m[row:row_end, column:column_end])
            second = load(v[row:row_end, column:column_end])
            old = load(theta[row:row_end, column:column_end])

            first = combined(scaled(first, beta1), scaled(slope, 1 - beta1), nl.add)
            square = combined(slope, slope, nl.multiply)
            second = combined(scaled(second, beta2), scaled(square, 1 - beta2), nl.add)
            inverse = inverse_deviation(second, 1 - beta2**step, 0.0)
            update = scaled(combined(first, inverse, nl.multiply), lr / (1 - beta1**step))
            new = combined(scaled(old, 1 - lr * decay), update, nl.subtract)
            nisa.dma_copy(dst=out[row:row_end, column:column_end], src=new)
    return out
