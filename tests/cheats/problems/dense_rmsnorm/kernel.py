"""Projection, bias and norm, 128 rows at a time; a whole row of the sum stays in SBUF until its norm is known."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
F = nl.tile_size.gemm_moving_fmax


def load(source):
    """A part of HBM, brought into SBUF."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def turned_blocks(tile):
    """The tile in blocks of 128 columns, each with partitions and columns exchanged."""
    rows, columns = tile.shape
    blocks = []
    for start in range(0, columns, P):
        size = min(P, columns - start)
        turned = nl.ndarray((size, rows), dtype=tile.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=tile[:, start : start + size], engine=nisa.engine.tensor)
        block = nl.ndarray((size, rows), dtype=tile.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=block, src=turned)
        blocks.append(block)
    return blocks


def product(blocks, weights, start, end):
    """Rows whose turned blocks are given, times columns ``start`` to ``end`` of the weights in HBM; in PSUM."""
    result = nl.ndarray((blocks[0].shape[1], end - start), dtype=nl.float32, buffer=nl.psum)
    k = 0
    for block in blocks:
        size = block.shape[0]
        nisa.nc_matmul(dst=result, stationary=block, moving=load(weights[k : k + size, start:end]))
        k += size
    return result


def inverse_rms(tile, eps):
    """1 / sqrt(mean square + eps) of each row, [P, 1]."""
    rows, width = tile.shape
    squares = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
    mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / width, op1=nl.add, operand1=eps)
    scale = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=scale, op=nl.rsqrt, data=mean)
    return scale


def spread(vector, size):
    """A vector [N] in HBM, repeated on ``size`` partitions."""
    width = vector.shape[0]
    return load(vector.reshape((1, width)).broadcast(0, size))


@nki.jit
def kernel(x, w, eps, g, b):
    """x [M, K], w [K, N], g [N], b [N] -> [M, N]."""
    rows = x.shape[0]
    columns = w.shape[1]
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        row_end = min(row + P, rows)
        size = row_end - row
        blocks = turned_blocks(load(x[row:row_end, :]))
        total = nl.ndarray((size, columns), dtype=nl.float32, buffer=nl.sbuf)
        for start in range(0, columns, F):
            end = min(start + F, columns)
            nisa.tensor_copy(dst=total[:, start:end], src=product(blocks, w, start, end))
        nisa.tensor_tensor(dst=total, data1=total, data2=spread(b, size), op=nl.add)
        normal = nl.ndarray((size, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=normal, data=total, op0=nl.multiply, operand0=inverse_rms(total, eps))
        result = nl.ndarray((size, columns), dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=normal, data2=spread(g, size), op=nl.multiply)
        nisa.dma_copy(dst=out[row:row_end, :], src=result)
    return out
