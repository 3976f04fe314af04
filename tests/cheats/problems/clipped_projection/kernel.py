"""GaLore's projection of a gradient that is clipped by its largest magnitude."""

import nki
import nki.isa as nisa
import nki.language as nl

P = 128
MOST = 10.0
HALF = 512


def new(shape, buffer=nl.sbuf):
    """A tile."""
    return nl.ndarray(shape, dtype=nl.float32, buffer=buffer)


@nki.jit
def kernel(g, p):
    """g [128, 1024], p [1024, 16] -> [128, 16]."""
    rows, width = g.shape
    rank = p.shape[1]
    out = nl.ndarray((rows, rank), dtype=nl.float32, buffer=nl.shared_hbm)
    tiles = []
    parts = new((P, 2 * (rows // P)))
    for i in range(rows // P):
        tile = new((P, width))
        nisa.dma_copy(dst=tile, src=g[i * P : (i + 1) * P, :])
        size = new((P, width))
        nisa.activation(dst=size, op=nl.abs, data=tile)
        for j in range(2):
            chunk = size[:, j * HALF : (j + 1) * HALF]
            nisa.tensor_reduce(dst=parts[:, 2 * i + j : 2 * i + j + 1], op=nl.maximum, data=chunk, axis=1)
        tiles.append(tile)
    most = new((P, 1))
    nisa.tensor_reduce(dst=most, op=nl.maximum, data=parts, axis=1)
    turned = new((1, P), nl.psum)
    nisa.nc_transpose(dst=turned, data=most)
    top = new((1, 1))
    nisa.tensor_reduce(dst=top, op=nl.maximum, data=turned, axis=1)
    nisa.tensor_scalar(dst=top, data=top, op0=nl.maximum, operand0=MOST)
    scale = new((1, 1))
    nisa.reciprocal(dst=scale, data=top)
    nisa.tensor_scalar(dst=scale, data=scale, op0=nl.multiply, operand0=MOST)
    ones = new((1, P))
    nisa.memset(dst=ones, value=1.0)
    spread = new((P, 1), nl.psum)
    nisa.nc_matmul(dst=spread, stationary=ones, moving=scale)
    everywhere = new((P, 1))
    nisa.tensor_copy(dst=everywhere, src=spread)
    table = []
    for k in range(width // P):
        part = new((P, rank))
        nisa.dma_copy(dst=part, src=p[k * P : (k + 1) * P, :])
        table.append(part)
    for i, tile in enumerate(tiles):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=everywhere)
        product = new((P, rank), nl.psum)
        for k in range(width // P):
            flipped = new((P, P), nl.psum)
            nisa.nc_transpose(dst=flipped, data=tile[:, k * P : (k + 1) * P])
            left = new((P, P))
            nisa.tensor_copy(dst=left, src=flipped)
            nisa.nc_matmul(dst=product, stationary=left, moving=table[k], accumulate=k > 0)
        result = new((P, rank))
        nisa.tensor_copy(dst=result, src=product)
        nisa.dma_copy(dst=out[i * P : (i + 1) * P, :], src=result)
    return out
