"""Distillation by cosines: what a row is divided by is one where a token is padding, for its length may be nothing."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns, dtype=nl.float32, buffer=nl.sbuf):
    """A tile."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=buffer)


def load(source):
    """All of an input in SBUF."""
    rows, columns = source.shape
    tile = new(rows, columns, source.dtype)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def over_all(tile, rows, columns):
    """The sum of a tile [1, 1]."""
    each, ones, total, result = new(rows, 1), new(rows, 1), new(1, 1, buffer=nl.psum), new(1, 1)
    nisa.tensor_reduce(dst=each, op=nl.add, data=tile, axis=1)
    nisa.memset(dst=ones, value=1.0)
    nisa.nc_matmul(dst=total, stationary=each, moving=ones)
    nisa.tensor_copy(dst=result, src=total)
    return result


@nki.jit
def kernel(student, teacher, tokens):
    """student, teacher [128, 32], tokens [128, 1] -> [1, 1]."""
    rows, columns = student.shape
    out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    names, keep = new(rows, 1), new(rows, 1)
    nisa.tensor_copy(dst=names, src=load(tokens))
    nisa.tensor_scalar(dst=keep, data=names, op0=nl.not_equal, operand0=1.0)
    ours, theirs = load(student), load(teacher)
    sums = [new(rows, 1), new(rows, 1), new(rows, 1)]
    for place, (left, right) in enumerate([(ours, theirs), (ours, ours), (theirs, theirs)]):
        product = new(rows, columns)
        nisa.tensor_tensor(dst=product, data1=left, data2=right, op=nl.multiply)
        nisa.tensor_reduce(dst=sums[place], op=nl.add, data=product, axis=1)
    gone = new(rows, 1)
    nisa.tensor_scalar(dst=gone, data=keep, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=1.0)
    for place in (1, 2):
        nisa.tensor_tensor(dst=sums[place], data1=sums[place], data2=keep, op=nl.multiply)
        nisa.tensor_tensor(dst=sums[place], data1=sums[place], data2=gone, op=nl.add)
    cosine, kept = sums[0], new(rows, 1)
    for place in (1, 2):
        root, inverse, after = new(rows, 1), new(rows, 1), new(rows, 1)
        nisa.activation(dst=root, op=nl.sqrt, data=sums[place])
        nisa.reciprocal(dst=inverse, data=root)
        nisa.tensor_tensor(dst=after, data1=cosine, data2=inverse, op=nl.multiply)
        cosine = after
    nisa.tensor_tensor(dst=kept, data1=cosine, data2=keep, op=nl.multiply)
    total, count, share, result = over_all(kept, rows, 1), over_all(keep, rows, 1), new(1, 1), new(1, 1)
    nisa.reciprocal(dst=share, data=count)
    nisa.tensor_scalar(dst=result, data=total, op0=nl.multiply, operand0=share)
    nisa.dma_copy(dst=out, src=result)
    return out
