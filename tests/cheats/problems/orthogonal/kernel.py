"""A matrix of Gram less the unit matrix."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(columns):
    """A float32 tile of all partitions."""
    return nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)


def total(one, other):
    """The sums of products along rows."""
    product, result = new(one.shape[1]), new(1)
    nisa.tensor_tensor(dst=product, data1=one, data2=other, op=nl.multiply)
    nisa.tensor_reduce(dst=result, data=product, op=nl.add, axis=1, keepdims=True)
    return result


@nki.jit
def kernel(w):
    """w [128, 128] -> [128, 1]."""
    width = w.shape[1]
    out = nl.ndarray((P, 1), dtype=w.dtype, buffer=nl.shared_hbm)
    data, across, gram = new(width), new(P), new(P)
    nisa.dma_copy(dst=data, src=w)
    part = nl.ndarray((width, P), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=part, data=data, engine=nisa.engine.tensor)
    nisa.tensor_copy(dst=across, src=part)
    product = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=across, moving=across)
    nisa.tensor_copy(dst=gram, src=product)
    ones, own = new(P), new(P)
    nisa.memset(dst=ones, value=1.0)
    nisa.affine_select(
        dst=own, pattern=[[-1, P]], channel_multiplier=1, on_true_tile=ones, on_false_value=0.0, cmp_op=nl.equal,
        offset=0,
    )  # fmt: skip
    nisa.tensor_tensor(dst=gram, data1=gram, data2=own, op=nl.subtract)
    nisa.dma_copy(dst=out, src=total(gram, gram))
    return out
