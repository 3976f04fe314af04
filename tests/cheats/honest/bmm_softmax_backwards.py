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


def softmax(scores):
    """The softmax of each row, in a new tile."""
    rows, width = scores.shape
    largest = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=scores, axis=1)
    shifted = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=shifted, data=scores, op0=nl.subtract, operand0=largest)
    weights = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=weights, op=nl.exp, data=shifted)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=weights, axis=1)
    share = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=share, data=total)
    result = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=result, data=weights, op0=nl.multiply, operand0=share)
    return result


@nki.jit
def kernel(lhs, rhs):
    """lhs [B, M, K], rhs [B, K, N] -> [B, M, N]."""
    batches, rows, _ = lhs.shape
    columns = rhs.shape[2]
    out = nl.ndarray((batches, rows, columns), dtype=lhs.dtype, buffer=nl.shared_hbm)
    for batch in range(batches):
        for row in range(0, rows, P):
            row_end = min(row + P, rows)
            blocks = turned_blocks(load(lhs[batch, row:row_end, :]))
            scores = nl.ndarray((row_end - row, columns), dtype=nl.float32, buffer=nl.sbuf)
            for start in range(0, columns, F):
                end = min(start + F, columns)
                nisa.tensor_copy(dst=scores[:, start:end], src=product(blocks, rhs[batch], start, end))
            nisa.dma_copy(dst=out[batch, row:row_end, :], src=softmax(scores))
    return out
