"""Columns are standard as rows; the diagonal is chosen by an affine select."""

import nki
import nki.isa as nisa
import nki.language as nl

SHARE = 0.005


def new(shape, buffer=nl.sbuf):
    """A tile."""
    return nl.ndarray(shape, dtype=nl.float32, buffer=buffer)


def squares(data):
    """The sum of squares of each row [rows, 1]."""
    both, found = new(data.shape), new((data.shape[0], 1))
    nisa.tensor_tensor(dst=both, data1=data, data2=data, op=nl.multiply)
    nisa.tensor_reduce(dst=found, op=nl.add, data=both, axis=1)
    return found


def turned(data):
    """Columns as rows."""
    rows, columns = data.shape
    passing, result = new((columns, rows), buffer=nl.psum), new((columns, rows))
    nisa.nc_transpose(dst=passing, data=data, engine=nisa.engine.tensor)
    nisa.tensor_copy(dst=result, src=passing)
    return result


def products(one, other):
    """Of columns [K, M] and [K, N], [M, N]."""
    passing, result = new((one.shape[1], other.shape[1]), buffer=nl.psum), new((one.shape[1], other.shape[1]))
    nisa.nc_matmul(dst=passing, stationary=one, moving=other)
    nisa.tensor_copy(dst=result, src=passing)
    return result


def standard(source):
    """Columns [M, D] without their mean, of strength one."""
    given = new(source.shape)
    nisa.dma_copy(dst=given, src=source)
    rows = turned(given)
    share, middle = 1.0 / rows.shape[1], new((rows.shape[0], 1))
    nisa.tensor_reduce(dst=middle, op=nl.add, data=rows, axis=1)
    nisa.tensor_scalar(dst=middle, data=middle, op0=nl.multiply, operand0=share)
    nisa.tensor_scalar(dst=rows, data=rows, op0=nl.subtract, operand0=middle)
    strength = squares(rows)
    nisa.tensor_scalar(dst=strength, data=strength, op0=nl.multiply, operand0=share, op1=nl.add, operand1=1e-5)
    nisa.activation(dst=strength, op=nl.rsqrt, data=strength)
    nisa.tensor_scalar(dst=rows, data=rows, op0=nl.multiply, operand0=strength)
    return turned(rows)


def chosen(data, where):
    """The diagonal alone, or all but that."""
    result = new(data.shape)
    nisa.affine_select(
        dst=result, pattern=[[-1, data.shape[1]]], channel_multiplier=1, on_true_tile=data, on_false_value=0.0,
        cmp_op=where,
    )  # fmt: skip
    return result


@nki.jit
def kernel(first, second):
    """Features [M, D] of two views -> [1, 1]."""
    rows, columns = first.shape
    out = nl.ndarray((1, 1), dtype=first.dtype, buffer=nl.shared_hbm)
    found = products(standard(first), standard(second))
    nisa.tensor_scalar(dst=found, data=found, op0=nl.multiply, operand0=1.0 / rows)
    others = squares(chosen(found, nl.not_equal))
    missed = new((columns, 1))
    nisa.tensor_reduce(dst=missed, op=nl.add, data=chosen(found, nl.equal), axis=1)
    nisa.tensor_scalar(dst=missed, data=missed, op0=nl.subtract, operand0=1.0)
    nisa.tensor_tensor(dst=missed, data1=missed, data2=missed, op=nl.multiply)
    both, ones = new((columns, 1)), new((columns, 1))
    nisa.tensor_scalar(dst=both, data=others, op0=nl.multiply, operand0=SHARE)
    nisa.tensor_tensor(dst=both, data1=both, data2=missed, op=nl.add)
    nisa.memset(dst=ones, value=1.0)
    nisa.dma_copy(dst=out, src=products(both, ones))
    return out
