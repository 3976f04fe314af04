"""RMSNorm of x + gate * up, a tile of rows at a time."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def combined(a, b, op):
    """A new tile of op(a, b)."""
    tile = nl.ndarray(a.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=tile, data1=a, data2=b, op=op)
    return tile


def total(tile):
    """The rows' sums [P, 1]."""
    result = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=result, op=nl.add, data=tile, axis=1)
    return result


@nki.jit
def kernel(x, gate, up):
    """x, gate and up [M, N] -> [M, N]."""
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        end = min(row + P, rows)
        tiles = []
        for source in (x, gate, up):
            tile = nl.ndarray((end - row, width), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=source[row:end, :])
            tiles.append(tile)
        residual, through = tiles[0], combined(tiles[1], tiles[2], nl.multiply)
        h = combined(residual, through, nl.add)
        squares = total(combined(h, h, nl.multiply))
        scale = nl.ndarray(squares.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.rsqrt, data=squares, scale=1.0 / width, bias=1e-6)
        result = nl.ndarray(h.shape, dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=h, op0=nl.multiply, operand0=scale)
        nisa.dma_copy(dst=out[row:end, :], src=result)
    return out
