"""Whether brackets are nested: depths by a scan, and for each depth the kind that was opened last, by another."""

import nki
import nki.isa as nisa
import nki.language as nl

OPEN, CLOSED = (40.0, 91.0, 123.0), (41.0, 93.0, 125.0)


def both(one, other, op):
    """Two tiles, element by element, or a tile and a number."""
    result = nl.ndarray(one.shape, dtype=nl.float32, buffer=nl.sbuf)
    if isinstance(other, float):
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def scanned(keep, add):
    """state = keep state + add."""
    result = nl.ndarray(keep.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor_scan(dst=result, data0=keep, data1=add, initial=0.0, op0=nl.multiply, op1=nl.add)
    return result


@nki.jit
def kernel(text):
    """text [M, N] -> [M, 1]."""
    rows, width = text.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    raw = nl.ndarray((rows, width), dtype=text.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=raw, src=text)
    begins, ends, kind, ones = (nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf) for _ in range(4))
    nisa.memset(dst=ones, value=1.0)
    for tile in (begins, ends, kind):
        nisa.memset(dst=tile, value=0.0)
    for number in range(3):
        one, other = both(raw, OPEN[number], nl.equal), both(raw, CLOSED[number], nl.equal)
        begins, ends = both(begins, one, nl.add), both(ends, other, nl.add)
        kind = both(kind, both(both(one, other, nl.add), float(number + 1), nl.multiply), nl.add)
    depth = scanned(ones, both(begins, ends, nl.subtract))
    wrong = both(depth, 0.0, nl.less)
    last = wrong[:, width - 1 : width]
    nisa.tensor_tensor(dst=last, data1=last, data2=both(depth[:, width - 1 : width], 0.0, nl.not_equal), op=nl.maximum)
    for level in range(1, width // 2 + 1):
        opened = both(begins, both(depth, float(level), nl.equal), nl.multiply)
        kept = scanned(both(opened, 0.0, nl.equal), both(opened, kind, nl.multiply))
        closed = both(ends, both(depth, float(level - 1), nl.equal), nl.multiply)
        wrong = both(wrong, both(closed, both(kept, kind, nl.not_equal), nl.multiply), nl.maximum)
    any_, result = (nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2))
    nisa.tensor_reduce(dst=any_, op=nl.maximum, data=wrong, axis=1)
    nisa.tensor_scalar(dst=result, data=any_, op0=nl.equal, operand0=0.0)
    nisa.dma_copy(dst=out, src=result)
    return out
