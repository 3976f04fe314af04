"""The largest numbers of the rows that share an id: columns become rows on the tensor engine."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def load(source):
    """A part of HBM in SBUF, as float32."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    result = new(*source.shape)
    nisa.tensor_copy(dst=result, src=tile)
    return result


def new(rows, columns):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def combined(one, other, op):
    """Two tiles, element by element; a number, or what has one column, is the same in all of them."""
    result = new(*one.shape)
    if isinstance(other, float) or (other.shape[1] == 1 and one.shape[1] != 1):
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def reduced(tile, op):
    """Each row's sum or largest element, [P, 1]."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def turned(tile):
    """Columns as rows."""
    rows, columns = tile.shape
    middle, result = nl.ndarray((columns, rows), dtype=nl.float32, buffer=nl.psum), new(columns, rows)
    nisa.nc_transpose(dst=middle, data=tile, engine=nisa.engine.tensor)
    nisa.tensor_copy(dst=result, src=middle)
    return result


@nki.jit
def kernel(x, ids):
    """x [M, N], ids [M] -> [16, N]."""
    rows, columns = x.shape
    out = nl.ndarray((16, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    across, found = new(columns, rows), new(columns, 16)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        nisa.tensor_copy(dst=across[:, row:end], src=turned(load(x[row:end, :])))
    places = load(ids.reshape((1, rows)).broadcast(0, columns))
    for segment in range(16):
        here = combined(places, float(segment), nl.equal)
        away = combined(combined(here, 1.0, nl.subtract), 3e38, nl.multiply)
        largest = reduced(combined(combined(across, here, nl.multiply), away, nl.add), nl.maximum)
        present = combined(largest, reduced(here, nl.maximum), nl.multiply)
        nisa.tensor_copy(dst=found[:, segment : segment + 1], src=present)
    nisa.dma_copy(dst=out, src=turned(found))
    return out
