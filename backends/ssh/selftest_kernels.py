"""The kernels of ``selftest`` in both dialects: a head, and bodies by what they are for."""

from __future__ import annotations

from typing import Final

CURRENT: Final = {
    "head": """import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x, y, scale):
""",
    "two": """    first = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    second = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    b = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    nisa.dma_copy(dst=b, src=y)
    nisa.tensor_tensor(dst=b, data1=a, data2=b, op=nl.subtract)
    nisa.tensor_scalar(dst=a, data=a, op0=nl.multiply, operand0=scale)
    nisa.dma_copy(dst=first, src=a)
    nisa.dma_copy(dst=second, src=b)
    return first, second
""",
    "half": """    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray((64, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x[0:64, 0:512])
    nisa.dma_copy(dst=out[0:64, 0:512], src=a)
    return out
""",
    "refused": """    a = nl.ndarray((256, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    return a
""",
    "function": """    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    nisa.activation(dst=a, op=nl.{name}, data=a)
    nisa.dma_copy(dst=out, src=a)
    return out
""",
}
BETA1: Final = {
    "head": """import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

@nki.jit
def kernel(x, y, scale):
""",
    "two": """    first = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    second = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    nl.store(first, nl.multiply(a, scale))
    nl.store(second, nl.subtract(a, nl.load(y)))
    return first, second
""",
    "half": """    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out[0:64, 0:512], nl.load(x[0:64, 0:512]))
    return out
""",
    "refused": """    a = nl.ndarray((256, 512), dtype=x.dtype, buffer=nl.sbuf)
    a[...] = nl.load(x)
    return a
""",
    "function": """    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nisa.activation(op=nl.{name}, data=nl.load(x)))
    return out
""",
}
