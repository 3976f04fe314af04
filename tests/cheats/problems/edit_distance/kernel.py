"""By how many steps one row becomes the other: a table, row after row, each of which is a scan."""

import nki
import nki.isa as nisa
import nki.language as nl

ROWS, LENGTH = 16, 20


def new(columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((ROWS, columns), dtype=dtype, buffer=nl.sbuf)


def as_numbers(source):
    """Tokens as float32."""
    whole, result = new(LENGTH, nl.int32), new(LENGTH)
    nisa.dma_copy(dst=whole, src=source)
    nisa.tensor_copy(dst=result, src=whole)
    return result


@nki.jit
def kernel(one, other):
    """one and other [16, 20] -> [16, 1]."""
    out = nl.ndarray((ROWS, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    first, second = as_numbers(one), as_numbers(other)
    whole, places, steps, ones = new(LENGTH + 1, nl.int32), new(LENGTH + 1), new(LENGTH + 1), new(LENGTH + 1)
    nisa.iota(dst=whole, pattern=[[1, LENGTH + 1]], offset=0, channel_multiplier=0)
    nisa.tensor_copy(dst=places, src=whole)
    nisa.tensor_copy(dst=steps, src=places)
    nisa.memset(dst=ones, value=1.0)
    for token in range(LENGTH):
        unlike, over, best, reached = new(LENGTH), new(LENGTH), new(LENGTH + 1), new(LENGTH + 1)
        nisa.tensor_scalar(dst=unlike, data=second, op0=nl.not_equal, operand0=first[:, token : token + 1])
        nisa.tensor_scalar(dst=best, data=steps, op0=nl.add, operand0=1.0)
        nisa.tensor_tensor(dst=over, data1=steps[:, 0:LENGTH], data2=unlike, op=nl.add)
        after = slice(1, LENGTH + 1)
        nisa.tensor_tensor(dst=best[:, after], data1=best[:, after], data2=over, op=nl.minimum)
        nisa.tensor_tensor_scan(dst=reached, data0=ones, data1=best, initial=100.0, op0=nl.add, op1=nl.minimum)
        steps = reached
    nisa.dma_copy(dst=out, src=steps[:, LENGTH : LENGTH + 1])
    return out
