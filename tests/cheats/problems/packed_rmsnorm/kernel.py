"""Sums squares of the total."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


def load(source):
    """A part of HBM, brought into SBUF."""
    tile = new(*source.shape, dtype=source.dtype)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def summed(data1, data2):
    """Sums of products along rows: [rows, 1]."""
    products, sums = new(*data1.shape), new(data1.shape[0], 1)
    nisa.tensor_tensor(dst=products, data1=data1, data2=data2, op=nl.multiply)
    nisa.tensor_reduce(dst=sums, op=nl.add, data=products, axis=1)
    return sums


@nki.jit
def kernel(packed):
    """packed [M, 3 N] -> [M, N]."""
    rows, width = packed.shape[0], packed.shape[1] // 3
    out = nl.ndarray((rows, width), dtype=packed.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        tile = load(packed[start : start + size, :])
        x, residual, gate = (tile[:, part * width : (part + 1) * width] for part in range(3))
        total = new(size, width)
        nisa.tensor_tensor(dst=total, data1=x, data2=residual, op=nl.add)
        squares = summed(total, total)
        nisa.tensor_scalar(dst=squares, data=squares, op0=nl.multiply, operand0=1.0 / width, op1=nl.add, operand1=1e-6)
        share = new(size, 1)
        nisa.activation(dst=share, op=nl.rsqrt, data=squares)
        nisa.scalar_tensor_tensor(
            dst=total, data=total, op0=nl.multiply, operand0=share, op1=nl.multiply, operand1=gate
        )
        nisa.dma_copy(dst=out[start : start + size, :], src=total)
    return out
