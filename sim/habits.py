"""Errors of Python itself inside a kernel, told in the kernel language's terms, most of all the habits of Beta 1."""

from __future__ import annotations

import re
from types import FrameType
from typing import Final

from nki_anvil.sim import meant
from nki_anvil.sim.errors import TraceError

_PATTERNS: Final[tuple[tuple[str, str, str], ...]] = (
    (r"unexpected keyword argument 'mask'", "NKI-BETA1", "mask= is gone: clamp the tile with min() and slice it."),
    (
        r"unexpected keyword argument 'dtype'",
        "NKI-BETA1",
        "dtype= is gone: the result has the dtype of dst, allocated with nl.ndarray.",
    ),
    (r"unexpected keyword argument 'dst_rmw_op'", "NKI-BETA1", "Accumulate with nisa.dma_compute."),
    (
        r"unexpected keyword argument 'lazy_initialization'",
        "NKI-BETA1",
        "The first matmul of a region overwrites by itself.",
    ),
    (r"unexpected keyword argument", "NKI-ARGUMENT", "See the function's signature in the NKI reference."),
    (
        r"missing \d+ required .*'dst'",
        "NKI-BETA1",
        "Instructions return nothing: allocate dst with nl.ndarray and pass it first.",
    ),
    (r"missing \d+ required", "NKI-ARGUMENT", "dst comes first, then the inputs."),
    (r"takes .* positional arguments? but", "NKI-ARGUMENT", "See the function's signature in the NKI reference."),
    (
        r"unsupported operand type.*'NkiTensor'",
        "NKI-OPERATOR",
        "Tiles have no operators: use nl.add, nisa.tensor_tensor ...",
    ),
    (
        r"unsupported operand type.*'VirtualRegister'",
        "NKI-CONTROL",
        "Compute in a tile, then nisa.register_load; since NKI 0.7, nisa.scalar_load gives what has arithmetic.",
    ),
    (r"unsupported operand type.*'NkiScalar'", "NKI-CONTROL", "A scalar adds, subtracts and multiplies, no more."),
    (r"unexpected keyword argument 'imm'", "NKI-REMOVED", "Since NKI 0.3 it is nisa.register_move(dst, src)."),
    (r"unexpected keyword argument 'use_gpsimd_dma'", "NKI-REMOVED", "Since NKI 0.3: dma_engine=nisa.dma_engine..."),
    (r"unsupported operand type.*'NkiInstruction'", "NKI-BETA1", "Instructions return no tile: they write dst."),
    (r"'NkiInstruction' object", "NKI-BETA1", "Instructions return no tile: they write dst."),
    (
        r"'NkiTensor' object has no attribute",
        "NKI-UNKNOWN",
        "See the views of NkiTensor: slice, select, permute, reshape, ap ...",
    ),
)


_UNENDING: Final = "A loop never ends, or keeps too much: bound it, or let it run at execution with nl.fori_loop."


def explain(error: Exception, source: str = "") -> TraceError:
    """The error as a TraceError: a known habit with what replaced it, else what Python said and what was meant, or what
    the error itself says to do: whoever traces a kernel may refuse what it does.

    ``source`` is the kernel's file: names are looked up in its innermost frame.
    """
    text, frame = str(error), _frame(error, source)
    for pattern, code, remedy in _PATTERNS:
        if isinstance(error, (TypeError, AttributeError)) and re.search(pattern, text):
            return TraceError(code, f"{text}.", remedy=_meant(error, text, frame, code) or remedy)
    if isinstance(error, AssertionError):
        return TraceError("NKI-ASSERT", f"The kernel's own assertion failed{': ' + text if text else ''}.")
    if isinstance(error, RecursionError):
        return TraceError("NKI-PYTHON", "The kernel recurses without end.", remedy="Stop the recursion.")
    known = _UNENDING if isinstance(error, MemoryError) else str(getattr(error, "remedy", ""))
    remedy = known or _meant(error, text, frame)
    remedy = remedy or "The kernel's Python failed at this line, which runs once, on shapes and without data."
    return TraceError("NKI-PYTHON", f"{type(error).__name__}: {text}", remedy=remedy)


def _meant(error: Exception, text: str, frame: FrameType | None, code: str = "") -> str:
    """What was meant instead; empty where nothing near is known."""
    if isinstance(error, NameError):
        return meant.name(error, frame)
    if isinstance(error, AttributeError):
        return meant.attribute(error) if code != "NKI-BETA1" else ""
    return meant.call(text, frame) if code in ("NKI-ARGUMENT", "") and isinstance(error, TypeError) else ""


def _frame(error: Exception, source: str) -> FrameType | None:
    """The innermost frame of the kernel's file, else the innermost one."""
    found: FrameType | None = None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == source or found is None or found.f_code.co_filename != source:
            found = step.tb_frame
        step = step.tb_next
    return found
