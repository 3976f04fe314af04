"""Contracts from the last block to the first."""

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
    k = weights.shape[0]
    for block in reversed(blocks):
        k -= block.shape[0]
        nisa.nc_matmul(dst=result, stationary=block, moving=load(weights[k : k + block.shape[0], start:end]))
    return result


def gated(gate, up, hidden):
    """hidden = silu(gate) * up; gate and up in PSUM, hidden in SBUF."""
    power = nl.ndarray(gate.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=power, op=nl.exp, data=gate, scale=-1.0)
    below = nl.ndarray(gate.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=below, data=power, op0=nl.add, operand0=1.0)
    sigmoid = nl.ndarray(gate.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=sigmoid, data=below)
    silu = nl.ndarray(gate.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=silu, data1=gate, data2=sigmoid, op=nl.multiply)
    nisa.tensor_tensor(dst=hidden, data1=silu, data2=up, op=nl.multiply)


@nki.jit
def kernel(x, w_up, w_down, w_gate):
    """x [M, K], w_up and w_gate [K, N], w_down [N, K] -> [M, K]."""
    rows, width = x.shape
    inner = w_up.shape[1]
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        row_end = min(row + P, rows)
        blocks = turned_blocks(load(x[row:row_end, :]))
        hidden = nl.ndarray((row_end - row, inner), dtype=nl.float32, buffer=nl.sbuf)
        for start in range(0, inner, F):
            end = min(start + F, inner)
            gate = product(blocks, w_gate, start, end)
            up = product(blocks, w_up, start, end)
            gated(gate, up, hidden[:, start:end])
        hidden_blocks = turned_blocks(hidden)
        for start in range(0, width, F):
            end = min(start + F, width)
            result = nl.ndarray((row_end - row, end - start), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=product(hidden_blocks, w_down, start, end))
            nisa.dma_copy(dst=out[row:row_end, start:end], src=result)
    return out
