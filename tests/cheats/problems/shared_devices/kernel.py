"""Components: which of 64 users and 64 devices share an edge, squared again and again."""

import nki
import nki.isa as nisa
import nki.language as nl

TURNS = 7


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
def kernel(users, devices):
    """users, devices [E, 1] -> [U, 1]."""
    count, _ = users.shape
    size, many = 128, 64
    out = nl.ndarray((many, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    number, vertex = new(count, size, nl.int32), new(count, size)
    nisa.iota(dst=number, pattern=[[1, size]], offset=0, channel_multiplier=0)
    nisa.tensor_copy(dst=vertex, src=number)
    member = new(count, size)
    nisa.memset(dst=member, value=0.0)
    for ends, first in ((users, 0.0), (devices, 64.0)):
        given, named = new(count, 1, nl.int32), new(count, 1)
        nisa.dma_copy(dst=given, src=ends)
        nisa.tensor_copy(dst=named, src=given)
        nisa.tensor_scalar(dst=named, data=named, op0=nl.add, operand0=first)
        nisa.scalar_tensor_tensor(dst=member, data=vertex, op0=nl.equal, operand0=named, op1=nl.add, operand1=member)
    near = joined(member, count, size)
    itself, own, row = new(size, size), new(size, 1, nl.int32), new(size, 1)
    nisa.iota(dst=own, pattern=[[1, 1]], offset=0, channel_multiplier=1)
    nisa.tensor_copy(dst=row, src=own)
    nisa.tensor_scalar(dst=itself, data=vertex, op0=nl.equal, operand0=row)
    nisa.tensor_tensor(dst=near, data1=near, data2=itself, op=nl.add)
    for _ in range(TURNS):
        near = joined(near, size, size)
    worth, best = new(size, size), new(size, 1)
    nisa.tensor_scalar(dst=worth, data=vertex, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=float(size))
    nisa.tensor_tensor(dst=worth, data1=worth, data2=near, op=nl.multiply)
    nisa.tensor_reduce(dst=best, op=nl.maximum, data=worth, axis=1)
    label = new(size, 1, nl.int32)
    nisa.tensor_scalar(dst=label, data=best, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=float(size))
    nisa.dma_copy(dst=out, src=label[0:many, :])
    return out
