"""Column by column, a matrix a partition."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
N = 8


def new(columns):
    """A tile of all partitions."""
    return nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)


def rest_of(a, lower, row, column):
    """An element less what the columns before make of it."""
    rest, product = new(1), new(N)
    nisa.tensor_copy(dst=rest, src=a[:, N * row + column : N * row + column + 1])
    if column > 0:
        before, own = lower[:, N * row : N * row + column], lower[:, N * column : N * column + column]
        nisa.tensor_tensor(dst=product[:, 0:column], data1=before, data2=own, op=nl.multiply)
        total = new(1)
        nisa.tensor_reduce(dst=total, data=product[:, 0:column], op=nl.add, axis=1, keepdims=True)
        nisa.tensor_tensor(dst=rest, data1=rest, data2=total, op=nl.subtract)
    return rest


@nki.jit
def kernel(a):
    """-> [M, N * N]."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    held, lower = new(N * N), new(N * N)
    nisa.dma_copy(dst=held, src=a)
    nisa.memset(dst=lower, value=0.0)
    for column in range(N):
        pivot, root = rest_of(held, lower, column, column), new(1)
        nisa.tensor_scalar(dst=root, data=pivot, op0=nl.power, operand0=-0.5)
        for row in range(column, N):
            rest = pivot if row == column else rest_of(held, lower, row, column)
            place = N * row + column
            nisa.tensor_tensor(dst=lower[:, place : place + 1], data1=rest, data2=root, op=nl.multiply)
    nisa.dma_copy(dst=out, src=lower)
    return out
