"""Which rows of bytes are UTF-8: each byte against those before it."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax


def both(one, other, op):
    """Two tiles, element by element, or a tile and a number."""
    result = nl.ndarray(one.shape, dtype=nl.float32, buffer=nl.sbuf)
    if isinstance(other, float):
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def pair(before, first, now, op, second):
    """Where the byte before is the first number and the byte compares with the second."""
    return both(both(before, first, nl.equal), both(now, second, op), nl.multiply)


@nki.jit
def kernel(text):
    """text [128, N] -> [128, 1]."""
    rows, width = text.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    raw = nl.ndarray((rows, width), dtype=text.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=raw, src=text)
    b = nl.ndarray((rows, width + 4), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=b, value=0.0)
    nisa.tensor_copy(dst=b[:, 3 : 3 + width], src=raw)
    end = width + 4
    now, one, two, three = b[:, 3:end], b[:, 2 : end - 1], b[:, 1 : end - 2], b[:, 0 : end - 3]
    expected = both(both(one, 194.0, nl.greater_equal), both(two, 224.0, nl.greater_equal), nl.maximum)
    expected = both(expected, both(three, 240.0, nl.greater_equal), nl.maximum)
    follows = both(both(now, 128.0, nl.greater_equal), both(now, 192.0, nl.less), nl.multiply)
    wrong = both(follows, expected, nl.not_equal)
    wrong = both(wrong, both(both(now, 192.0, nl.greater_equal), both(now, 194.0, nl.less), nl.multiply), nl.maximum)
    wrong = both(wrong, both(now, 244.0, nl.greater), nl.maximum)
    wrong = both(wrong, pair(one, 224.0, now, nl.less, 160.0), nl.maximum)
    wrong = both(wrong, pair(one, 237.0, now, nl.greater, 159.0), nl.maximum)
    wrong = both(wrong, pair(one, 240.0, now, nl.less, 144.0), nl.maximum)
    wrong = both(wrong, pair(one, 244.0, now, nl.greater, 143.0), nl.maximum)
    any_, result = (nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2))
    nisa.tensor_reduce(dst=any_, op=nl.maximum, data=wrong, axis=1)
    nisa.tensor_scalar(dst=result, data=any_, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=1.0)
    nisa.dma_copy(dst=out, src=result)
    return out
