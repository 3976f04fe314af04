"""One head of attention: scores and sums in float32, every operand of a product in bfloat16."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def loaded(source):
    """A tile of the source, as it is stored."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def transposed(tile):
    """[n, m] of a tile [m, n]."""
    turned = nl.ndarray((tile.shape[1], tile.shape[0]), dtype=tile.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=tile, engine=nisa.engine.tensor)
    result = nl.ndarray(turned.shape, dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=turned)
    return result


@nki.jit
def kernel(q, k, v):
    """q [S, D], k and v [T, D] -> [S, D]."""
    (rows, depth), (keys, _) = q.shape, k.shape
    out = nl.ndarray((rows, depth), dtype=q.dtype, buffer=nl.shared_hbm)
    queries = transposed(loaded(q))
    scores = nl.ndarray((rows, keys), dtype=nl.float32, buffer=nl.psum)
    for start in range(0, keys, P):
        end = min(start + P, keys)
        nisa.nc_matmul(dst=scores[:, start:end], stationary=queries, moving=transposed(loaded(k[start:end, :])))
    highest = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=highest, op=nl.maximum, data=scores, axis=1)
    shifted = nl.ndarray((rows, keys), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=shifted, data=scores, op0=nl.subtract, operand0=highest)
    weights = nl.ndarray((rows, keys), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=weights, op=nl.exp, data=shifted, scale=0.125)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=weights, axis=1)
    share = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=share, data=total)
    shares = nl.ndarray((rows, keys), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=shares, data=weights, op0=nl.multiply, operand0=share)
    product = nl.ndarray((rows, depth), dtype=nl.float32, buffer=nl.psum)
    for start in range(0, keys, P):
        end = min(start + P, keys)
        nisa.nc_matmul(dst=product, stationary=transposed(shares[:, start:end]), moving=loaded(v[start:end, :]))
    result = nl.ndarray((rows, depth), dtype=out.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=product)
    nisa.dma_copy(dst=out, src=result)
    return out
