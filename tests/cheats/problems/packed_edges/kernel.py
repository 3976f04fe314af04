"""Components: which nodes share an edge, squared again and again."""

import nki
import nki.isa as nisa
import nki.language as nl

TURNS = 6


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


def joined(matrix, rows, columns):
    """Which columns have a row in common."""
    sums = nl.ndarray((columns, columns), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=matrix, moving=matrix)
    found = new(columns, columns)
    nisa.tensor_scalar(dst=found, data=sums, op0=nl.greater, operand0=0.0)
    return found


@nki.jit
def kernel(edges):
    """edges [E, 1] -> [V, 1]."""
    count, _ = edges.shape
    size = 64
    out = nl.ndarray((size, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    number, vertex = new(count, size, nl.int32), new(count, size)
    nisa.iota(dst=number, pattern=[[1, size]], offset=0, channel_multiplier=0)
    nisa.tensor_copy(dst=vertex, src=number)
    member = new(count, size)
    nisa.memset(dst=member, value=0.0)
    places = new(count, 1, nl.int32)
    nisa.dma_copy(dst=places, src=edges)
    for op, operand in ((nl.right_shift, 6), (nl.bitwise_and, 63)):
        given, named = new(count, 1, nl.int32), new(count, 1)
        nisa.tensor_scalar(dst=given, data=places, op0=op, operand0=operand)
        nisa.tensor_copy(dst=named, src=given)
        nisa.scalar_tensor_tensor(dst=member, data=vertex, op0=nl.equal, operand0=named, op1=nl.add, operand1=member)
    near = joined(member, count, size)
    itself, own, row = new(size, size), new(size, 1, nl.int32), new(size, 1)
    nisa.iota(dst=own, pattern=[[1, 1]], offset=0, channel_multiplier=1)
    nisa.tensor_copy(dst=row, src=own)
    nisa.tensor_scalar(dst=itself, data=vertex[0:size, :], op0=nl.equal, operand0=row)
    nisa.tensor_tensor(dst=near, data1=near, data2=itself, op=nl.add)
    for _ in range(TURNS):
        near = joined(near, size, size)
    worth, best = new(size, size), new(size, 1)
    nisa.tensor_scalar(
        dst=worth, data=vertex[0:size, :], op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=float(size)
    )
    nisa.tensor_tensor(dst=worth, data1=worth, data2=near, op=nl.multiply)
    nisa.tensor_reduce(dst=best, op=nl.maximum, data=worth, axis=1)
    label = new(size, 1, nl.int32)
    nisa.tensor_scalar(dst=label, data=best, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=float(size))
    nisa.dma_copy(dst=out, src=label)
    return out
