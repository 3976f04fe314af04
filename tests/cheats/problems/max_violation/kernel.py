"""MaxVio (loss-free balancing): by how much the busiest expert's load is above the mean load."""

import nki
import nki.isa as nisa
import nki.language as nl

EXPERTS, CHUNK = 160, 80


def new(rows, columns, dtype=nl.float32, buffer=nl.sbuf):
    """A tile."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=buffer)


def load(source):
    """A tile of what lies in HBM."""
    tile = new(source.shape[0], source.shape[1], source.dtype)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def as_float(tile):
    """Integers as float32."""
    result = new(tile.shape[0], tile.shape[1])
    nisa.tensor_copy(dst=result, src=tile)
    return result


def both(one, other, op):
    """Two tiles, element by element; a number, or one column, is the same in all."""
    result = new(one.shape[0], one.shape[1])
    if isinstance(other, float) or (other.shape[1] == 1 and one.shape[1] != 1):
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def reduced(tile, op):
    """Along rows."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def places(rows, columns):
    """0, 1, 2 ... in each row."""
    whole = new(rows, columns, nl.int32)
    nisa.iota(dst=whole, pattern=[[1, columns]], offset=0, channel_multiplier=0)
    return as_float(whole)


def stored(tile):
    """A tile in HBM."""
    out = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def kernel(ids):
    """ids [128, 8] -> [1, 1]."""
    rows, chosen = ids.shape
    numbers, experts, ones = as_float(load(ids)), places(rows, EXPERTS), new(rows, 1)
    nisa.memset(dst=ones, value=1.0)
    bank, counts = new(1, EXPERTS, buffer=nl.psum), new(1, EXPERTS)
    for k in range(chosen):
        hit = both(experts, numbers[:, k : k + 1], nl.equal)
        nisa.nc_matmul(dst=bank, stationary=ones, moving=hit, accumulate=k > 0)
    nisa.tensor_copy(dst=counts, src=bank)
    parts = new(1, EXPERTS // CHUNK)
    for c in range(EXPERTS // CHUNK):
        end = (c + 1) * CHUNK
        nisa.tensor_reduce(dst=parts[:, c : c + 1], op=nl.maximum, data=counts[:, c * CHUNK : end], axis=1)
    share = EXPERTS / (rows * chosen)
    return stored(both(both(reduced(parts, nl.maximum), share, nl.multiply), 1.0, nl.subtract))
