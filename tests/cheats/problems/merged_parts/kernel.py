"""Flash-decoding's merge of split-K parts; an empty part has no say in the maximum."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def get(x):
    """A tensor in SBUF."""
    tile = new(x.shape[0], x.shape[1])
    nisa.dma_copy(dst=tile, src=x)
    return tile


@nki.jit
def kernel(m, sums, o):
    """m, sums [M, 16], o [M, 64] -> [M, 4]."""
    rows = m.shape[0]
    result = nl.ndarray((rows, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    tm, tl, to = get(m), get(sums), get(o)
    live, dead, masked, most, w = new(rows, 16), new(rows, 16), new(rows, 16), new(rows, 1), new(rows, 16)
    nisa.tensor_scalar(dst=live, data=tl, op0=nl.greater, operand0=0.0)
    nisa.tensor_scalar(dst=dead, data=live, op0=nl.subtract, operand0=1.0, op1=nl.multiply, operand1=3.0e38)
    nisa.tensor_tensor(dst=masked, data1=tm, data2=live, op=nl.multiply)
    nisa.tensor_tensor(dst=masked, data1=masked, data2=dead, op=nl.add)
    nisa.tensor_reduce(dst=most, op=nl.maximum, data=masked, axis=1)
    nisa.tensor_scalar(dst=w, data=masked, op0=nl.subtract, operand0=most)
    nisa.activation(dst=w, op=nl.exp, data=w)
    nisa.tensor_tensor(dst=w, data1=w, data2=live, op=nl.multiply)
    wl, total, none, out, part = new(rows, 16), new(rows, 1), new(rows, 1), new(rows, 4), new(rows, 4)
    nisa.tensor_tensor(dst=wl, data1=w, data2=tl, op=nl.multiply)
    nisa.tensor_reduce(dst=total, op=nl.add, data=wl, axis=1)
    nisa.tensor_scalar(dst=none, data=total, op0=nl.equal, operand0=0.0)
    nisa.tensor_tensor(dst=total, data1=total, data2=none, op=nl.add)
    nisa.reciprocal(dst=total, data=total)
    nisa.memset(dst=out, value=0.0)
    for p in range(16):
        nisa.tensor_scalar(dst=part, data=to[:, 4 * p : 4 * p + 4], op0=nl.multiply, operand0=w[:, p : p + 1])
        nisa.tensor_tensor(dst=out, data1=out, data2=part, op=nl.add)
    nisa.tensor_scalar(dst=out, data=out, op0=nl.multiply, operand0=total)
    nisa.dma_copy(dst=result, src=out)
    return result
