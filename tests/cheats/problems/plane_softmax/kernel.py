"""Softmax over whole matrices: a maximum and a sum of every partition, brought together over the partitions."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def load(source):
    """A part of HBM, brought into SBUF."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


@nki.jit
def kernel(x):
    """x [B, H, W] -> [B, H, W]."""
    batch, height, width = x.shape
    out = nl.ndarray((batch, height, width), dtype=x.dtype, buffer=nl.shared_hbm)
    ones = new(P, P)
    nisa.memset(dst=ones, value=1.0)
    for b in range(batch):
        tiles = []
        most = new(P, 1)
        nisa.memset(dst=most, value=-3.0e38)
        for start in range(0, height, P):
            size = min(P, height - start)
            tile = load(x[b, start : start + size, :])
            tiles.append(tile)
            part = new(size, 1)
            nisa.tensor_reduce(dst=part, op=nl.maximum, data=tile, axis=1)
            nisa.tensor_tensor(dst=most[0:size, :], data1=most[0:size, :], data2=part, op=nl.maximum)
        wide = new(P, P)
        nisa.tensor_scalar(dst=wide, data=ones, op0=nl.multiply, operand0=most)
        turned = nl.ndarray((P, P), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=wide, engine=nisa.engine.tensor)
        largest = new(P, 1)
        nisa.tensor_reduce(dst=largest, op=nl.maximum, data=turned, axis=1, negate=True)
        sums = new(P, 1)
        nisa.memset(dst=sums, value=0.0)
        for tile in tiles:
            size = tile.shape[0]
            total = new(size, 1)
            nisa.activation_reduce(
                dst=tile, op=nl.exp, data=tile, bias=largest[0:size, :], reduce_op=nl.add, reduce_res=total
            )
            nisa.tensor_tensor(dst=sums[0:size, :], data1=sums[0:size, :], data2=total, op=nl.add)
        every = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=every, stationary=ones, moving=sums)
        share = new(P, 1)
        nisa.reciprocal(dst=share, data=every)
        for number, start in enumerate(range(0, height, P)):
            tile = tiles[number]
            size = tile.shape[0]
            nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=share[0:size, :])
            nisa.dma_copy(dst=out[b, start : start + size, :], src=tile)
    return out
