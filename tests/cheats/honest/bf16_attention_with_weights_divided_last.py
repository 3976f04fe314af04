"""One head of attention over blocks of 64 keys with a running maximum: weights go to the product in bfloat16 as they
are, and the result is divided by their sum.
"""

import nki
import nki.isa as nisa
import nki.language as nl

KEYS = 64
SCALE = 0.125


def transposed(tile):
    """[n, m] of a tile [m, n], in SBUF."""
    turned = nl.ndarray((tile.shape[1], tile.shape[0]), dtype=tile.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=tile)
    result = nl.ndarray(turned.shape, dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=turned)
    return result


def loaded(source):
    """A tile of the source, as it is stored."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def column(rows):
    """A number per row."""
    return nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def kernel(q, k, v):
    """q [S, D], k and v [T, D] -> [S, D]."""
    (rows, depth), (keys, _) = q.shape, k.shape
    out = nl.ndarray((rows, depth), dtype=q.dtype, buffer=nl.shared_hbm)
    queries = transposed(loaded(q))
    highest, total = column(rows), column(rows)
    summed = nl.ndarray((rows, depth), dtype=nl.float32, buffer=nl.sbuf)
    for block in range(keys // KEYS):
        chosen = slice(block * KEYS, (block + 1) * KEYS)
        scores = nl.ndarray((rows, KEYS), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=scores, stationary=queries, moving=transposed(loaded(k[chosen, :])))
        reached = column(rows)
        nisa.tensor_reduce(dst=reached, op=nl.maximum, data=scores, axis=1)
        nisa.tensor_scalar(dst=reached, data=reached, op0=nl.multiply, operand0=SCALE)
        if block:
            nisa.tensor_tensor(dst=reached, data1=highest, data2=reached, op=nl.maximum)
        below, part = column(rows), column(rows)
        nisa.tensor_scalar(dst=below, data=reached, op0=nl.multiply, operand0=-1.0)
        weights = nl.ndarray((rows, KEYS), dtype=q.dtype, buffer=nl.sbuf)
        nisa.activation(
            dst=weights, op=nl.exp, data=scores, bias=below, scale=SCALE,
            reduce_op=nl.add, reduce_res=part, reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )  # fmt: skip
        product = nl.ndarray((rows, depth), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=product, stationary=transposed(weights), moving=loaded(v[chosen, :]))
        if block:
            kept = column(rows)
            nisa.activation(dst=kept, op=nl.exp, data=highest, bias=below)
            for whole, more in ((total, part), (summed, product)):
                nisa.scalar_tensor_tensor(
                    dst=whole, data=whole, op0=nl.multiply, operand0=kept, op1=nl.add, operand1=more
                )
        else:
            nisa.tensor_copy(dst=total, src=part)
            nisa.tensor_copy(dst=summed, src=product)
        nisa.tensor_copy(dst=highest, src=reached)
    share = column(rows)
    nisa.reciprocal(dst=share, data=total)
    result = nl.ndarray((rows, depth), dtype=out.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=result, data=summed, op0=nl.multiply, operand0=share)
    nisa.dma_copy(dst=out, src=result)
    return out
