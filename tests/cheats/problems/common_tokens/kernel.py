"""The longest common row of tokens: a table, row after row, each of which is a scan."""

import nki
import nki.isa as nisa
import nki.language as nl

ROWS, LENGTH, BAND = 16, 20, 20


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
    found, zeros = new(LENGTH + 1), new(LENGTH + 1)
    nisa.memset(dst=found, value=0.0)
    nisa.memset(dst=zeros, value=0.0)
    for token in range(LENGTH):
        like, over, best, reached = new(LENGTH), new(LENGTH), new(LENGTH + 1), new(LENGTH + 1)
        nisa.memset(dst=like, value=0.0)
        low, high = max(0, token - BAND), min(LENGTH, token + BAND + 1)
        nisa.tensor_scalar(
            dst=like[:, low:high], data=second[:, low:high], op0=nl.equal, operand0=first[:, token : token + 1]
        )
        nisa.tensor_copy(dst=best, src=found)
        nisa.tensor_tensor(dst=over, data1=found[:, 0:LENGTH], data2=like, op=nl.add)
        after = slice(1, LENGTH + 1)
        nisa.tensor_tensor(dst=best[:, after], data1=best[:, after], data2=over, op=nl.maximum)
        nisa.tensor_tensor_scan(dst=reached, data0=zeros, data1=best, initial=0.0, op0=nl.add, op1=nl.maximum)
        found = reached
    nisa.dma_copy(dst=out, src=found[:, LENGTH : LENGTH + 1])
    return out
