"""Small kernels whose latencies tell the constants of the performance model apart.

Each repeats one kind of step ``count`` times. Everything written reaches the output, so that no compiler may leave it
out; two counts of one kernel differ by the steps alone.
"""

import nki
import nki.isa as nisa
import nki.language as nl

P = 128


def loaded(x):
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    return tile


def stored(tile):
    out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def vector(x, count, chains):
    """So many tensor_scalar of the vector engine, each waiting for the one ``chains`` before it."""
    tile = loaded(x)
    width = x.shape[1] // chains
    for number in range(count):
        part = tile[:, (number % chains) * width : (number % chains + 1) * width]
        nisa.tensor_scalar(dst=part, data=part, op0=nl.add, operand0=1.0, engine=nisa.engine.vector)
    return stored(tile)


@nki.jit
def scalar(x, count, chains):
    """The same with activations of the scalar engine."""
    tile = loaded(x)
    width = x.shape[1] // chains
    for number in range(count):
        part = tile[:, (number % chains) * width : (number % chains + 1) * width]
        nisa.activation(dst=part, op=nl.sigmoid, data=part)
    return stored(tile)


@nki.jit
def gpsimd(x, count, chains):
    """tensor_tensor on GpSimd, whose tensor_scalar computes rsqrt alone."""
    tile = loaded(x)
    width = x.shape[1] // chains
    for number in range(count):
        part = tile[:, (number % chains) * width : (number % chains + 1) * width]
        nisa.tensor_tensor(dst=part, data1=part, data2=part, op=nl.maximum, engine=nisa.engine.gpsimd)
    return stored(tile)


@nki.jit
def pairs(x, count, chains):
    """tensor_tensor on two fp32 operands in SBUF."""
    tile, other = loaded(x), loaded(x)
    width = x.shape[1] // chains
    for number in range(count):
        part = (slice(None), slice((number % chains) * width, (number % chains + 1) * width))
        nisa.tensor_tensor(dst=tile[part], data1=tile[part], data2=other[part], op=nl.add)
    return stored(tile)


@nki.jit
def handover(x, count):
    """One tile that the vector and the scalar engine change in turn."""
    tile = loaded(x)
    for _ in range(count):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0, engine=nisa.engine.vector)
        nisa.activation(dst=tile, op=nl.sigmoid, data=tile)
    return stored(tile)


@nki.jit
def tables(x, count):
    """Activations that need another table each time."""
    tile = loaded(x)
    for _ in range(count):
        nisa.activation(dst=tile, op=nl.sigmoid, data=tile)
        nisa.activation(dst=tile, op=nl.sqrt, data=tile)
    return stored(tile)


@nki.jit
def matmul(x, count, width):
    """Matmuls that add up in one bank; the format is that of the input."""
    tile = loaded(x)
    total = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.psum)
    for _ in range(count):
        nisa.nc_matmul(dst=total, stationary=tile[:, 0:P], moving=tile[:, 0:width])
    result = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=total, engine=nisa.engine.vector)
    return stored(result)


@nki.jit
def copies(x):
    """Every row block of x [count * 128, width] through a tile of its own: transfers that overlap."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for first in range(0, x.shape[0], P):
        tile = nl.ndarray((P, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[first : first + P, :])
        nisa.dma_copy(dst=out[first : first + P, :], src=tile)
    return out


@nki.jit
def round_trips(x, count):
    """A tile that goes to HBM and comes back, each transfer waiting for the one before."""
    tile = loaded(x)
    for _ in range(count):
        place = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.hbm)
        nisa.dma_copy(dst=place, src=tile)
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=place)
    return stored(tile)


@nki.jit
def arrivals(x, count):
    """Loads that one vector instruction each waits for."""
    total = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
    for _ in range(count):
        tile = loaded(x)
        nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)
    return stored(total)
