"""What is alive spreads from empty places, and among stones of one colour; the others have no liberty."""

import nki
import nki.isa as nisa
import nki.language as nl

B = 13
WIDE = B + 2
ROUNDS = 120


def new(shape, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def numbers(source):
    """Integers as float32."""
    whole, result = new(source.shape, nl.int32), new(source.shape)
    nisa.dma_copy(dst=whole, src=source)
    nisa.tensor_copy(dst=result, src=whole)
    return result


@nki.jit
def kernel(x):
    """x [M, B * B] -> [M, B * B]."""
    rows, cells = x.shape
    out = nl.ndarray((rows, cells), dtype=nl.int32, buffer=nl.shared_hbm)
    size = WIDE * WIDE
    board, data = new((rows, size)), numbers(x)
    nisa.memset(dst=board, value=3.0)
    for y in range(B):
        nisa.tensor_copy(dst=board[:, (y + 1) * WIDE + 1 : (y + 1) * WIDE + 1 + B], src=data[:, y * B : y * B + B])
    first, end = WIDE, size - WIDE
    ways, empty, inner = [], new((rows, size)), new((rows, size))
    nisa.tensor_scalar(dst=empty, data=board, op0=nl.equal, operand0=0.0)
    nisa.tensor_scalar(dst=inner, data=board, op0=nl.less, operand0=3.0)
    for way in (1, -1, WIDE, -WIDE):
        same = new((rows, end - first))
        nisa.tensor_tensor(dst=same, data1=board[:, first + way : end + way], data2=board[:, first:end], op=nl.equal)
        nisa.tensor_tensor(dst=same, data1=same, data2=empty[:, first + way : end + way], op=nl.maximum)
        nisa.tensor_tensor(dst=same, data1=same, data2=inner[:, first:end], op=nl.multiply)
        ways.append(same)
    alive = empty
    for _ in range(ROUNDS):
        after, one = new((rows, size)), new((rows, end - first))
        nisa.tensor_copy(dst=after, src=alive)
        for turn in range(4):
            way = (1, -1, WIDE, -WIDE)[turn]
            nisa.tensor_tensor(dst=one, data1=alive[:, first + way : end + way], data2=ways[turn], op=nl.multiply)
            nisa.tensor_tensor(dst=after[:, first:end], data1=after[:, first:end], data2=one, op=nl.maximum)
        alive = after
    flat, whole = new((rows, cells)), new((rows, cells), nl.int32)
    for y in range(B):
        nisa.tensor_copy(dst=flat[:, y * B : y * B + B], src=alive[:, (y + 1) * WIDE + 1 : (y + 1) * WIDE + 1 + B])
    nisa.tensor_scalar(dst=flat, data=flat, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=1.0)
    nisa.tensor_copy(dst=whole, src=flat)
    nisa.dma_copy(dst=out, src=whole)
    return out
