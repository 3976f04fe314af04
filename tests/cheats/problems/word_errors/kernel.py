"""A row of the table after the other; the best way along a row by a scan."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
BAND = 99


def new(columns, dtype=nl.float32):
    """A tile in SBUF."""
    return nl.ndarray((P, columns), dtype=dtype, buffer=nl.sbuf)


def as_numbers(source):
    """Words as float32."""
    whole, result = new(source.shape[1], nl.int32), new(source.shape[1])
    nisa.dma_copy(dst=whole, src=source)
    nisa.tensor_copy(dst=result, src=whole)
    return result


@nki.jit
def kernel(heard, said):
    """heard [128, L], said [128, K] -> [128, 1]."""
    short, long = said.shape[1], heard.shape[1]
    out = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    first, second = as_numbers(said), as_numbers(heard)
    whole, places, ones = new(long + 1, nl.int32), new(long + 1), new(long + 1)
    nisa.iota(dst=whole, pattern=[[1, long + 1]], offset=0, channel_multiplier=0)
    nisa.tensor_copy(dst=places, src=whole)
    nisa.memset(dst=ones, value=1.0)
    # what lies beyond the band is never reached
    steps = new(long + 1)
    nisa.memset(dst=steps, value=1000.0)
    end = min(long, BAND + long - short) + 1
    nisa.tensor_copy(dst=steps[:, 0:end], src=places[:, 0:end])
    for at in range(short):
        low, high = max(0, at + 1 - BAND), min(long, at + 1 + BAND + long - short)
        best, reached, begin = new(long + 1), new(long + 1), max(1, low)
        nisa.memset(dst=reached, value=1000.0)
        nisa.tensor_scalar(dst=best[:, low : high + 1], data=steps[:, low : high + 1], op0=nl.add, operand0=1.0)
        unlike, over = new(high + 1 - begin), new(high + 1 - begin)
        nisa.tensor_scalar(
            dst=unlike, data=second[:, begin - 1 : high], op0=nl.not_equal, operand0=first[:, at : at + 1]
        )
        nisa.tensor_tensor(dst=over, data1=steps[:, begin - 1 : high], data2=unlike, op=nl.add)
        part = slice(begin, high + 1)
        nisa.tensor_tensor(dst=best[:, part], data1=best[:, part], data2=over, op=nl.minimum)
        part = slice(low, high + 1)
        nisa.tensor_tensor_scan(
            dst=reached[:, part], data0=ones[:, part], data1=best[:, part], initial=1000.0, op0=nl.add, op1=nl.minimum
        )
        steps = reached
    nisa.dma_copy(dst=out, src=steps[:, long : long + 1])
    return out
