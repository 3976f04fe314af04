"""Decodes one token against a cache: a group of heads shares keys and values up to a position."""

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


def transposed(tile):
    """A tile of at most 128 x 128, with partitions and columns exchanged."""
    rows, columns = tile.shape
    turned = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=tile, engine=nisa.engine.tensor)
    result = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=turned)
    return result


@nki.jit
def kernel(q, k, v, pos):
    """q [B, H, D], k and v [B, G, S, D], pos [B, 1] -> [B, H, D]."""
    batch, heads, depth = q.shape
    groups, length = k.shape[1], k.shape[2]
    share = heads // groups
    out = nl.ndarray((batch, heads, depth), dtype=q.dtype, buffer=nl.shared_hbm)
    numbers = new(share, length)
    nisa.iota(dst=numbers, pattern=[[1, length]], offset=0, channel_multiplier=0)
    for b in range(batch):
        at = nl.ndarray((share, 1), dtype=pos.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=at, src=pos[b : b + 1, :].broadcast(0, share))
        last = new(share, 1)
        nisa.tensor_copy(dst=last, src=at)
        keep = new(share, length)
        nisa.tensor_scalar(dst=keep, data=numbers, op0=nl.less_equal, operand0=last)
        away = new(share, length)
        nisa.tensor_scalar(dst=away, data=keep, op0=nl.subtract, operand0=1.0, op1=nl.multiply, operand1=1.0e30)
        for g in range(groups):
            queries = transposed(load(q[b, g * share : (g + 1) * share, :]))
            scores = new(share, length)
            values = []
            for start in range(0, length, P):
                keys = transposed(load(k[b, g, start : start + P, :]))
                values.append(load(v[b, g, start : start + P, :]))
                product = nl.ndarray((share, P), dtype=nl.float32, buffer=nl.psum)
                nisa.nc_matmul(dst=product, stationary=queries, moving=keys)
                nisa.tensor_scalar(dst=scores[:, start : start + P], data=product, op0=nl.multiply, operand0=0.125)
            nisa.tensor_tensor(dst=scores, data1=scores, data2=keep, op=nl.multiply)
            nisa.tensor_tensor(dst=scores, data1=scores, data2=away, op=nl.add)
            most = new(share, 1)
            nisa.tensor_reduce(dst=most, op=nl.maximum, data=scores, axis=1, negate=True)
            weights = new(share, length)
            total = new(share, 1)
            nisa.activation_reduce(dst=weights, op=nl.exp, data=scores, bias=most, reduce_op=nl.add, reduce_res=total)
            back = new(share, 1)
            nisa.reciprocal(dst=back, data=total)
            sums = nl.ndarray((share, depth), dtype=nl.float32, buffer=nl.psum)
            for number, start in enumerate(range(0, length, P)):
                turned = transposed(weights[:, start : start + P])
                nisa.nc_matmul(dst=sums, stationary=turned, moving=values[number])
            result = new(share, depth)
            nisa.tensor_scalar(dst=result, data=sums, op0=nl.multiply, operand0=back)
            nisa.dma_copy(dst=out[b, g * share : (g + 1) * share, :], src=result)
    return out
