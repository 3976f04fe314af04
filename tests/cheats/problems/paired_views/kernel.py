"""Each pair's nearness is its rows' own product; all others come of the tensor engine."""

import nki
import nki.isa as nisa
import nki.language as nl

SHARPNESS = 30.0


def new(shape, buffer=nl.sbuf):
    """A tile."""
    return nl.ndarray(shape, dtype=nl.float32, buffer=buffer)


def total(data):
    """Of each row [rows, 1]."""
    found = new((data.shape[0], 1))
    nisa.tensor_reduce(dst=found, op=nl.add, data=data, axis=1)
    return found


def product(one, other):
    """Element by element."""
    result = new(one.shape)
    nisa.tensor_tensor(dst=result, data1=one, data2=other, op=nl.multiply)
    return result


def unit(source):
    """Rows of length one."""
    rows = new(source.shape)
    nisa.dma_copy(dst=rows, src=source)
    size = total(product(rows, rows))
    nisa.tensor_scalar(dst=size, data=size, op0=nl.add, operand0=1e-12)
    nisa.activation(dst=size, op=nl.rsqrt, data=size)
    nisa.tensor_scalar(dst=rows, data=rows, op0=nl.multiply, operand0=size)
    return rows


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


def log_of_one_more(data):
    """log(1 + data) as the softplus of its logarithm: small data stay."""
    result = new(data.shape)
    nisa.activation(dst=result, op=nl.log, data=data)
    nisa.activation(dst=result, op=nl.softplus, data=result)
    return result


@nki.jit
def kernel(first, second):
    """Two views [M, D] -> [1, 1]."""
    rows = first.shape[0]
    out = nl.ndarray((1, 1), dtype=first.dtype, buffer=nl.shared_hbm)
    one, other = unit(first), unit(second)
    near = products(turned(one), turned(other))
    pair = total(product(one, other))
    nisa.tensor_scalar(dst=near, data=near, op0=nl.subtract, operand0=pair, op1=nl.multiply, operand1=SHARPNESS)
    nisa.activation(dst=near, op=nl.exp, data=near)
    others = new(near.shape)
    nisa.affine_select(
        dst=others, pattern=[[-1, rows]], channel_multiplier=1, on_true_tile=near, on_false_value=0.0,
        cmp_op=nl.not_equal,
    )  # fmt: skip
    loss, ones = log_of_one_more(total(others)), new((rows, 1))
    nisa.memset(dst=ones, value=1.0 / rows)
    nisa.dma_copy(dst=out, src=products(loss, ones))
    return out
