"""YIN's pitch: differences lag by lag, a running sum, and the first place of what counts."""

import nki
import nki.isa as nisa
import nki.language as nl

LAGS = 31


def new(rows, columns):
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def kernel(x):
    rows, width = x.shape
    window = width - LAGS
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    data, less = new(rows, width), new(rows, window)
    nisa.dma_copy(dst=data, src=x)
    difference, lags, ones, total, level = (new(rows, LAGS) for _ in range(5))
    for lag in range(1, LAGS + 1):
        nisa.tensor_tensor(dst=less, data1=data[:, 0:window], data2=data[:, lag : lag + window], op=nl.subtract)
        nisa.tensor_tensor(dst=less, data1=less, data2=less, op=nl.multiply)
        nisa.tensor_reduce(dst=difference[:, lag - 1 : lag], op=nl.add, data=less, axis=1)
    nisa.iota(dst=lags, pattern=[[1, LAGS]], offset=1, channel_multiplier=0)
    nisa.memset(dst=ones, value=1.0)
    nisa.tensor_tensor_scan(dst=total, data0=ones, data1=difference, initial=0.0, op0=nl.multiply, op1=nl.add)
    none, some, safe = new(rows, LAGS), new(rows, LAGS), new(rows, LAGS)
    nisa.tensor_scalar(dst=some, data=total, op0=nl.greater, operand0=0.0)
    nisa.tensor_scalar(dst=none, data=total, op0=nl.less_equal, operand0=0.0)
    nisa.tensor_tensor(dst=safe, data1=total, data2=none, op=nl.add)
    nisa.reciprocal(dst=safe, data=safe)
    nisa.tensor_tensor(dst=level, data1=difference, data2=lags, op=nl.multiply)
    nisa.tensor_tensor(dst=level, data1=level, data2=safe, op=nl.multiply)
    nisa.tensor_tensor(dst=level, data1=level, data2=none, op=nl.add)
    below, reached, turns = new(rows, LAGS), new(rows, LAGS), new(rows, LAGS)
    nisa.tensor_scalar(dst=below, data=level, op0=nl.less, operand0=0.1)
    nisa.tensor_tensor_scan(dst=reached, data0=ones, data1=below, initial=0.0, op0=nl.multiply, op1=nl.maximum)
    nisa.memset(dst=turns, value=1.0)
    nisa.tensor_tensor(
        dst=turns[:, 0 : LAGS - 1], data1=level[:, 0 : LAGS - 1], data2=level[:, 1:LAGS], op=nl.less_equal
    )
    nisa.tensor_tensor(dst=turns, data1=turns, data2=reached, op=nl.multiply)
    least = new(rows, 1)
    nisa.tensor_reduce(dst=least, op=nl.minimum, data=level, axis=1)
    lowest = new(rows, LAGS)
    nisa.tensor_scalar(dst=lowest, data=level, op0=nl.less_equal, operand0=least)
    places = []
    for marks in (turns, lowest):
        place, first = new(rows, LAGS), new(rows, 1)
        nisa.tensor_scalar(dst=place, data=marks, op0=nl.multiply, operand0=-1000.0, op1=nl.add, operand1=1000.0)
        nisa.tensor_tensor(dst=place, data1=place, data2=lags, op=nl.add)
        nisa.tensor_reduce(dst=first, op=nl.minimum, data=place, axis=1)
        places.append(first)
    dips, low = places
    isdip, result = new(rows, 1), new(rows, 1)
    nisa.tensor_copy(dst=isdip, src=reached[:, LAGS - 1 : LAGS])
    apart = new(rows, 1)
    nisa.tensor_tensor(dst=apart, data1=dips, data2=low, op=nl.subtract)
    nisa.tensor_tensor(dst=apart, data1=apart, data2=isdip, op=nl.multiply)
    nisa.tensor_tensor(dst=result, data1=low, data2=apart, op=nl.add)
    nisa.dma_copy(dst=out, src=result)
    return out
