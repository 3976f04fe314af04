"""Parts of a mesh: which vertices share a triangle, squared again and again."""

import nki
import nki.isa as nisa
import nki.language as nl

TURNS = 7
P = 128
VERTICES = 256


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


def joined(tiles, size):
    """Which columns have a row in common, in tiles of rows."""
    found = []
    for begin in range(0, size, P):
        sums = nl.ndarray((P, size), dtype=nl.float32, buffer=nl.psum)
        for tile in tiles:
            nisa.nc_matmul(dst=sums, stationary=tile[:, begin : begin + P], moving=tile)
        one = new(P, size)
        nisa.tensor_scalar(dst=one, data=sums, op0=nl.greater, operand0=0.0)
        found.append(one)
    return found


@nki.jit
def kernel(faces):
    """faces [F, 3] -> [V, 1]."""
    count, corners = faces.shape
    size = VERTICES
    out = nl.ndarray((size, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    number, vertex = new(P, size, nl.int32), new(P, size)
    nisa.iota(dst=number, pattern=[[1, size]], offset=0, channel_multiplier=0)
    nisa.tensor_copy(dst=vertex, src=number)
    members = []
    for begin in range(0, count, P):
        given, named = new(P, corners, nl.int32), new(P, corners)
        nisa.dma_copy(dst=given, src=faces[begin : begin + P, :])
        nisa.tensor_copy(dst=named, src=given)
        member = new(P, size)
        nisa.memset(dst=member, value=0.0)
        for corner in range(corners):
            one = named[:, corner : corner + 1]
            nisa.scalar_tensor_tensor(dst=member, data=vertex, op0=nl.equal, operand0=one, op1=nl.add, operand1=member)
        members.append(member)
    near = joined(members, size)
    for tile in range(len(near)):
        itself, own, row = new(P, size), new(P, 1, nl.int32), new(P, 1)
        nisa.iota(dst=own, pattern=[[1, 1]], offset=tile * P, channel_multiplier=1)
        nisa.tensor_copy(dst=row, src=own)
        nisa.tensor_scalar(dst=itself, data=vertex, op0=nl.equal, operand0=row)
        nisa.tensor_tensor(dst=near[tile], data1=near[tile], data2=itself, op=nl.add)
    for _ in range(TURNS):
        near = joined(near, size)
    for tile in range(len(near)):
        worth, best = new(P, size), new(P, 1)
        nisa.tensor_scalar(dst=worth, data=vertex, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=float(size))
        nisa.tensor_tensor(dst=worth, data1=worth, data2=near[tile], op=nl.multiply)
        nisa.tensor_reduce(dst=best, op=nl.maximum, data=worth, axis=1)
        label = new(P, 1, nl.int32)
        nisa.tensor_scalar(dst=label, data=best, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=float(size))
        nisa.dma_copy(dst=out[tile * P : tile * P + P, :], src=label)
    return out
