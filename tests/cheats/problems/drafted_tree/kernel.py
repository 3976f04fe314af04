"""Parents by comparison; from round to round what stands follows its parents one step farther."""

import nki
import nki.isa as nisa
import nki.language as nl


def new(rows, columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


def load(source):
    """Integers as floats."""
    raw, tile = new(source.shape[0], source.shape[1], source.dtype), new(source.shape[0], source.shape[1])
    nisa.dma_copy(dst=raw, src=source)
    nisa.tensor_copy(dst=tile, src=raw)
    return tile


ROUNDS = 15


@nki.jit
def kernel(parent, token, target):
    """parent, token, target [M, N] -> which drafts stand [M, N]."""
    rows, nodes = parent.shape
    out = nl.ndarray((rows, nodes), dtype=nl.int32, buffer=nl.shared_hbm)
    above, drafted, said = load(parent), load(token), load(target)
    places = new(rows, nodes)
    nisa.iota(dst=places, pattern=[[1, nodes]], offset=0, channel_multiplier=0)
    holds, fits = [], new(rows, nodes)
    nisa.memset(dst=fits, value=0.0)
    for i in range(1, nodes):
        before, hold, pick, there = new(rows, 1), new(rows, i), new(rows, i), new(rows, 1)
        nisa.memset(dst=before, value=0.0)
        if i > 1:
            nisa.tensor_scalar(dst=before, data=above[:, i : i + 1], op0=nl.less, operand0=float(i))
            nisa.tensor_tensor(dst=before, data1=before, data2=above[:, i : i + 1], op=nl.multiply)
        nisa.tensor_scalar(dst=hold, data=places[:, 0:i], op0=nl.equal, operand0=before)
        nisa.tensor_tensor(dst=pick, data1=hold, data2=said[:, 0:i], op=nl.multiply)
        nisa.tensor_reduce(dst=there, op=nl.add, data=pick, axis=1)
        nisa.tensor_tensor(dst=fits[:, i : i + 1], data1=there, data2=drafted[:, i : i + 1], op=nl.equal)
        holds.append(hold)
    stands = new(rows, nodes)
    nisa.memset(dst=stands, value=1.0)
    for _ in range(ROUNDS):
        fresh = new(rows, nodes)
        nisa.memset(dst=fresh[:, 0:1], value=1.0)
        for i in range(1, nodes):
            pick, there = new(rows, i), new(rows, 1)
            nisa.tensor_tensor(dst=pick, data1=holds[i - 1], data2=stands[:, 0:i], op=nl.multiply)
            nisa.tensor_reduce(dst=there, op=nl.add, data=pick, axis=1)
            nisa.tensor_tensor(dst=fresh[:, i : i + 1], data1=there, data2=fits[:, i : i + 1], op=nl.multiply)
        stands = fresh
    whole = new(rows, nodes, nl.int32)
    nisa.tensor_copy(dst=whole, src=stands)
    nisa.dma_copy(dst=out, src=whole)
    return out
