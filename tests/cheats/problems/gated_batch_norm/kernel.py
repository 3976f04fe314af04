"""A gated unit and its batch norm; columns are turned into rows, two tiles of 80 for each 96 of them."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def load(source):
    """A part of HBM in SBUF."""
    tile = new(*source.shape)
    nisa.dma_copy(dst=tile, src=source)
    return tile


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


def function(op, tile):
    """Of each element."""
    result = new(*tile.shape)
    nisa.activation(dst=result, op=op, data=tile)
    return result


def reduced(tile, op):
    """Each row's sum or largest element, [P, 1]."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def turned(tile):
    """Partitions and columns exchanged."""
    result, there = (
        new(tile.shape[1], tile.shape[0]),
        nl.ndarray((tile.shape[1], tile.shape[0]), dtype=nl.float32, buffer=nl.psum),
    )
    nisa.nc_transpose(dst=there, data=tile, engine=nisa.engine.tensor)
    nisa.tensor_copy(dst=result, src=there)
    return result


def mean(tiles):
    """Of each row of all tiles together, [P, 1]."""
    total = reduced(tiles[0], nl.add)
    for tile in tiles[1:]:
        total = combined(total, reduced(tile, nl.add), nl.add)
    return combined(total, 1.0 / (len(tiles) * tiles[0].shape[1]), nl.multiply)


def squares(tiles):
    """Of each element of each tile."""
    return [combined(tile, tile, nl.multiply) for tile in tiles]


@nki.jit
def kernel(x, y):
    """x [M, N], y [M, N] -> [M, N]; M in halves, N in 96 columns at a time."""
    half, columns = x.shape[0] // 2, 96
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, x.shape[1], columns):
        gated = []
        for row in range(0, x.shape[0], half):
            opened = function(nl.sigmoid, load(y[row : row + half, start : start + columns]))
            given = load(x[row : row + half, start : start + columns])
            gated.append(turned(combined(given, opened, nl.multiply)))
        middle = mean(gated)
        centred = [combined(tile, middle, nl.subtract) for tile in gated]
        variance = mean(squares(centred))
        share = function(nl.rsqrt, combined(variance, 1e-5, nl.add))
        for part, tile in enumerate(centred):
            place = out[part * half : (part + 1) * half, start : start + columns]
            nisa.dma_copy(dst=place, src=turned(combined(tile, share, nl.multiply)))
    return out
