"""Each embedding, smoothed by the others."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns, buffer=nl.sbuf):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=buffer)


def unit(tile, rows, columns):
    """Each row, divided by its length."""
    squares, total, result = new(rows, columns), new(rows, 1), new(rows, columns)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
    nisa.tensor_scalar(dst=total, data=total, op0=nl.add, operand0=1e-12)
    nisa.activation(dst=total, op=nl.sqrt, data=total)
    nisa.reciprocal(dst=total, data=total)
    nisa.tensor_scalar(dst=result, data=tile, op0=nl.multiply, operand0=total)
    return result


@nki.jit
def kernel(z):
    """z [128, 64] -> [128, 64]."""
    n, d = z.shape
    out = nl.ndarray((n, d), dtype=z.dtype, buffer=nl.shared_hbm)
    tile = new(n, d)
    nisa.dma_copy(dst=tile, src=z)
    u = unit(tile, n, d)
    turned, ut = new(d, n, nl.psum), new(d, n)
    nisa.nc_transpose(dst=turned, data=u, engine=nisa.engine.tensor)
    nisa.tensor_copy(dst=ut, src=turned)
    product, scores = new(n, n, nl.psum), new(n, n)
    nisa.nc_matmul(dst=product, stationary=ut, moving=ut)
    nisa.tensor_copy(dst=scores, src=product)
    masked = new(n, n)
    nisa.affine_select(
        dst=masked,
        pattern=[[-1, n]],
        channel_multiplier=1,
        on_true_tile=scores,
        on_false_value=-1e30,
        cmp_op=nl.not_equal,
    )
    bias, most, weights, total = new(n, 1), new(n, 1), new(n, n), new(n, 1)
    nisa.tensor_reduce(dst=most, op=nl.maximum, data=masked, axis=1)
    nisa.tensor_scalar(dst=bias, data=most, op0=nl.multiply, operand0=-47.0)
    nisa.activation(dst=weights, op=nl.exp, data=masked, scale=47.0, bias=bias)
    nisa.tensor_reduce(dst=total, op=nl.add, data=weights, axis=1)
    nisa.reciprocal(dst=total, data=total)
    nisa.tensor_scalar(dst=weights, data=weights, op0=nl.multiply, operand0=total)
    wturned, wt, voted, result = new(n, n, nl.psum), new(n, n), new(n, d, nl.psum), new(n, d)
    nisa.nc_transpose(dst=wturned, data=weights, engine=nisa.engine.tensor)
    nisa.tensor_copy(dst=wt, src=wturned)
    nisa.nc_matmul(dst=voted, stationary=wt, moving=u)
    nisa.tensor_copy(dst=result, src=voted)
    nisa.dma_copy(dst=out, src=result)
    return out
