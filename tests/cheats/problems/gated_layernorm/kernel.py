"""A gated unit and the layer norm of what it gives, 128 rows at a time; a row stays in SBUF until it is done."""

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


def new(rows, columns):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def combined(one, other, op):
    """Two tiles, element by element; what has one column is the same in all of them."""
    result = new(*one.shape)
    if other.shape[1] == 1 and one.shape[1] != 1:
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def mean(one, other):
    """Of each row of a product of two tiles, element by element, [P, 1]."""
    total, result = new(one.shape[0], 1), new(one.shape[0], 1)
    nisa.tensor_reduce(dst=total, op=nl.add, data=combined(one, other, nl.multiply), axis=1)
    nisa.tensor_scalar(dst=result, data=total, op0=nl.multiply, operand0=1.0 / one.shape[1])
    return result


def inverse_root(mean_square):
    """1 / sqrt(mean square + 1e-6) of each row."""
    shifted, result = new(*mean_square.shape), new(*mean_square.shape)
    nisa.tensor_scalar(dst=shifted, data=mean_square, op0=nl.add, operand0=1e-6)
    nisa.activation(dst=result, op=nl.rsqrt, data=shifted)
    return result


def projected(blocks, weights):
    """Rows whose turned blocks are given, times the weights in HBM; a whole row in SBUF."""
    columns = weights.shape[1]
    result = new(blocks[0].shape[1], columns)
    for start in range(0, columns, F):
        end = min(start + F, columns)
        nisa.tensor_copy(dst=result[:, start:end], src=product(blocks, weights, start, end))
    return result


@nki.jit
def kernel(x, w, z, v):
    """x [M, K], w [K, N], z [M, L], v [L, N] -> [M, N]."""
    out = nl.ndarray((x.shape[0], w.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, x.shape[0], P):
        end = min(row + P, x.shape[0])
        gate = projected(turned_blocks(load(x[row:end, :])), w)
        up = projected(turned_blocks(load(z[row:end, :])), v)
        opened = new(*gate.shape)
        nisa.activation(dst=opened, op=nl.silu, data=gate)
        gated, ones = combined(opened, up, nl.multiply), new(*gate.shape)
        nisa.memset(dst=ones, value=1.0)
        middle = mean(gated, ones)
        centred = combined(gated, middle, nl.subtract)
        variance = mean(centred, centred)
        nisa.dma_copy(dst=out[row:end, :], src=combined(centred, inverse_root(variance), nl.multiply))
    return out
