"""Parts of a sparse volume: which cells share a face, squared again and again."""

import nki
import nki.isa as nisa
import nki.language as nl

TURNS = 7
P = 128


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


def joined(matrix):
    """Which columns have a row in common."""
    sums = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=matrix, moving=matrix)
    found = new(P, P)
    nisa.tensor_scalar(dst=found, data=sums, op0=nl.greater, operand0=0.0)
    return found


@nki.jit
def kernel(cells):
    """cells [N, 1] -> [N, 1]."""
    out = nl.ndarray((P, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    given, ones, apart = new(P, 1, nl.int32), new(P, P), new(P, P)
    nisa.dma_copy(dst=given, src=cells)
    nisa.memset(dst=ones, value=1.0)
    nisa.memset(dst=apart, value=0.0)
    for shift in (0, 4, 8):
        whole, place, rows = new(P, 1, nl.int32), new(P, 1), new(P, P)
        nisa.tensor_scalar(dst=whole, data=given, op0=nl.right_shift, operand0=shift, op1=nl.bitwise_and, operand1=15)
        nisa.tensor_copy(dst=place, src=whole)
        nisa.tensor_scalar(dst=rows, data=ones, op0=nl.multiply, operand0=place)
        turned, distance = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.psum), new(P, P)
        nisa.nc_transpose(dst=turned, data=rows, engine=nisa.engine.tensor)
        nisa.tensor_scalar(dst=distance, data=turned, op0=nl.subtract, operand0=place)
        nisa.activation(dst=distance, op=nl.abs, data=distance)
        nisa.tensor_tensor(dst=apart, data1=apart, data2=distance, op=nl.add)
    near = new(P, P)
    nisa.tensor_scalar(dst=near, data=apart, op0=nl.less_equal, operand0=1.0)
    for _ in range(TURNS):
        near = joined(near)
    number, worth, best, label = new(P, P, nl.int32), new(P, P), new(P, 1), new(P, 1, nl.int32)
    nisa.iota(dst=number, pattern=[[-1, P]], offset=P, channel_multiplier=0)
    nisa.tensor_copy(dst=worth, src=number)
    nisa.tensor_tensor(dst=worth, data1=worth, data2=near, op=nl.multiply)
    nisa.tensor_reduce(dst=best, op=nl.maximum, data=worth, axis=1)
    nisa.tensor_scalar(dst=label, data=best, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=float(P))
    nisa.dma_copy(dst=out, src=label)
    return out
