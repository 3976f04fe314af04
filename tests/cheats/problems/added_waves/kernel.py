"""Adds two complex waves and norms each row of both parts by their common mean square."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def loaded(source):
    """A tile of an input."""
    tile = new(*source.shape)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def squared(tile):
    """The sum of squares over each row."""
    squares, total = new(*tile.shape), new(tile.shape[0], 1)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
    return total


def strength(one, other):
    """The sum of both tiles' squares over each row."""
    total = new(one.shape[0], 1)
    nisa.tensor_tensor(dst=total, data1=squared(one), data2=squared(other), op=nl.add)
    return total


@nki.jit
def kernel(re, im, by_re, by_im):
    """Four inputs [128, N] -> two outputs [128, N]."""
    rows, columns = re.shape
    first, second = loaded(re), loaded(im)
    real, imaginary = new(rows, columns), new(rows, columns)
    nisa.scalar_tensor_tensor(dst=real, data=loaded(by_re), op0=nl.multiply, operand0=0.5, op1=nl.add, operand1=first)
    nisa.scalar_tensor_tensor(
        dst=imaginary, data=loaded(by_im), op0=nl.multiply, operand0=0.5, op1=nl.add, operand1=second
    )
    total = strength(real, imaginary)
    share, outputs = new(rows, 1), []
    nisa.tensor_scalar(dst=share, data=total, op0=nl.multiply, operand0=1.0 / columns, op1=nl.add, operand1=1.0e-12)
    nisa.activation(dst=share, op=nl.rsqrt, data=share)
    for tile in (real, imaginary):
        out = nl.ndarray((rows, columns), dtype=re.dtype, buffer=nl.shared_hbm)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=share)
        nisa.dma_copy(dst=out, src=tile)
        outputs.append(out)
    return tuple(outputs)
