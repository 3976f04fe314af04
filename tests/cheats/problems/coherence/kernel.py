"""Cosines of atoms, in blocks on and above the diagonal."""

import nki
import nki.isa as nisa
import nki.language as nl

TILE = 100


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def both(one, other, op):
    """Two tiles, element by element."""
    result = new(*one.shape)
    nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def reduced(tile, op):
    """Along rows."""
    result = new(tile.shape[0], 1)
    nisa.tensor_reduce(dst=result, op=op, data=tile, axis=1)
    return result


def turned(tile):
    """The transpose of a tile."""
    bank = nl.ndarray((tile.shape[1], tile.shape[0]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=bank, data=tile, engine=nisa.engine.tensor)
    result = new(tile.shape[1], tile.shape[0])
    nisa.tensor_copy(dst=result, src=bank)
    return result


def directions(source):
    """Atoms of length one, an atom to a column."""
    tile, share, unit = new(*source.shape), new(source.shape[0], 1), new(*source.shape)
    nisa.dma_copy(dst=tile, src=source)
    nisa.tensor_scalar(
        dst=share,
        data=reduced(both(tile, tile, nl.multiply), nl.add),
        op0=nl.add,
        operand0=1.0e-12,
        op1=nl.power,
        operand1=-0.5,
    )
    nisa.tensor_scalar(dst=unit, data=tile, op0=nl.multiply, operand0=share)
    return turned(unit)


@nki.jit
def kernel(x):
    """x [N, D] -> [1, 1]."""
    rows, _ = x.shape
    out = nl.ndarray((1, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = [directions(x[row : min(row + TILE, rows), :]) for row in range(0, rows, TILE)]
    most = new(1, 1)
    nisa.memset(dst=most, value=0.0)
    for one in range(len(tiles)):
        for other in range(one, len(tiles)):
            left, right = tiles[one], tiles[other]
            bank = nl.ndarray((left.shape[1], right.shape[1]), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=bank, stationary=left, moving=right)
            sizes = new(*bank.shape)
            nisa.activation(dst=sizes, op=nl.abs, data=bank)
            if one == other:
                above = new(*bank.shape)
                nisa.affine_select(
                    dst=above,
                    pattern=[[1, bank.shape[1]]],
                    channel_multiplier=-1,
                    on_true_tile=sizes,
                    on_false_value=0.0,
                    cmp_op=nl.greater,
                )
                sizes = above
            high = reduced(turned(reduced(sizes, nl.maximum)), nl.maximum)
            most = both(most, high, nl.maximum)
    nisa.dma_copy(dst=out, src=most)
    return out
