"""Which of a graph's nodes are joined: each takes the smallest number of those next to it, again and again."""

import nki
import nki.isa as nisa
import nki.language as nl

EDGES, NODES = 40, 48
TURNS = 47


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


def numbers(rows, columns, step, of_each_row):
    """step * column + of_each_row * row."""
    whole, result = new(rows, columns, nl.int32), new(rows, columns)
    nisa.iota(dst=whole, pattern=[[step, columns]], offset=0, channel_multiplier=of_each_row)
    nisa.tensor_copy(dst=result, src=whole)
    return result


def named(ends):
    """One where an edge has its end [edges, nodes]."""
    whole, places, hits = new(EDGES, 1, nl.int32), new(EDGES, 1), new(EDGES, NODES)
    nisa.dma_copy(dst=whole, src=ends.reshape((EDGES, 1)))
    nisa.tensor_copy(dst=places, src=whole)
    nisa.tensor_scalar(dst=hits, data=numbers(EDGES, NODES, 1, 0), op0=nl.equal, operand0=places)
    return hits


def in_columns(column, ones):
    """A column's numbers along every row."""
    part = nl.ndarray((1, NODES), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=part, data=column, engine=nisa.engine.tensor)
    row, spread, result = new(1, NODES), nl.ndarray((NODES, NODES), dtype=nl.float32, buffer=nl.psum), new(NODES, NODES)
    nisa.tensor_copy(dst=row, src=part)
    nisa.nc_matmul(dst=spread, stationary=ones, moving=row)
    nisa.tensor_copy(dst=result, src=spread)
    return result


@nki.jit
def kernel(one, other):
    """one and other [1, 40] -> [48, 1]."""
    out = nl.ndarray((NODES, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    first, second = named(one), named(other)
    joined = nl.ndarray((NODES, NODES), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=joined, stationary=first, moving=second)
    nisa.nc_matmul(dst=joined, stationary=second, moving=first)
    own, apart, ones, least = new(NODES, NODES), new(NODES, NODES), new(1, NODES), numbers(NODES, 1, 0, 1)
    nisa.tensor_scalar(dst=own, data=numbers(NODES, NODES, 1, 0), op0=nl.equal, operand0=least)
    nisa.tensor_tensor(dst=apart, data1=joined, data2=own, op=nl.add)
    nisa.tensor_scalar(dst=apart, data=apart, op0=nl.less, operand0=0.5, op1=nl.multiply, operand1=100.0)
    nisa.memset(dst=ones, value=1.0)
    for _ in range(TURNS):
        near, found = new(NODES, NODES), new(NODES, 1)
        nisa.tensor_tensor(dst=near, data1=in_columns(least, ones), data2=apart, op=nl.add)
        nisa.tensor_reduce(dst=found, op=nl.minimum, data=near, axis=1)
        least = found
    nisa.dma_copy(dst=out, src=least)
    return out
