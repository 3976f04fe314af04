"""Products of codes, in blocks on and above the diagonal."""

import nki
import nki.isa as nisa
import nki.language as nl

TILE = 64


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
    """Codes of -1 and 1, a code to a column."""
    bits, tile = nl.ndarray(source.shape, dtype=nl.int32, buffer=nl.sbuf), new(*source.shape)
    nisa.dma_copy(dst=bits, src=source)
    nisa.tensor_copy(dst=tile, src=bits)
    signs = new(*source.shape)
    nisa.tensor_scalar(dst=signs, data=tile, op0=nl.multiply, operand0=2.0, op1=nl.subtract, operand1=1.0)
    return turned(signs)


@nki.jit
def kernel(x):
    """x [N, D] -> [1, 1]."""
    rows, bits = x.shape
    out = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    tiles = [directions(x[row : min(row + TILE, rows), :]) for row in range(0, rows, TILE)]
    most = new(1, 1)
    nisa.memset(dst=most, value=-4096.0)
    for one in range(len(tiles)):
        for other in range(one, len(tiles)):
            left, right = tiles[one], tiles[other]
            bank = nl.ndarray((left.shape[1], right.shape[1]), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=bank, stationary=left, moving=right)
            sizes = new(*bank.shape)
            nisa.tensor_copy(dst=sizes, src=bank)
            if one == other:
                above = new(*bank.shape)
                nisa.affine_select(
                    dst=above,
                    pattern=[[1, bank.shape[1]]],
                    channel_multiplier=-1,
                    on_true_tile=sizes,
                    on_false_value=-4096.0,
                    cmp_op=nl.greater,
                )
                sizes = above
            high = reduced(turned(reduced(sizes, nl.maximum)), nl.maximum)
            most = both(most, high, nl.maximum)
    apart, result = new(1, 1), nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=apart, data=most, op0=nl.multiply, operand0=-0.5, op1=nl.add, operand1=bits / 2)
    nisa.tensor_copy(dst=result, src=apart)
    nisa.dma_copy(dst=out, src=result)
    return out
