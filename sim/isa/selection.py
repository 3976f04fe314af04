"""Instructions that make or apply index patterns. Signatures follow the stubs of ``nki.isa``."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from nki_anvil.sim import operations
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.enums import NkiInstruction, reduce_cmd
from nki_anvil.sim.isa.operands import (
    affine,
    alike,
    choice,
    emit,
    integer,
    number,
    operation,
    optional_operation,
    sized,
    tile,
)
from nki_anvil.sim.tensor import NkiTensor

FP32_MIN: Final = float(np.finfo(np.float32).min)


def iota(
    dst: NkiTensor, pattern: Any, offset: int = 0, channel_multiplier: int = 0, name: str | None = None
) -> NkiInstruction:
    """dst[p, ...] = offset + p * channel_multiplier + the pattern's affine value."""
    pairs = _fitting("iota", tile(dst, "iota", "dst"), pattern)
    values = (pairs, integer(offset, "iota", "offset"), integer(channel_multiplier, "iota", "channel_multiplier"))
    return emit("iota", (dst,), values)


def _fitting(name: str, dst: NkiTensor, pattern: Any) -> tuple[tuple[int, int], ...]:
    pairs = affine(pattern, name)
    count = math.prod(pair[1] for pair in pairs)
    if count != math.prod(dst.shape[1:]):
        raise TraceError(
            "NKI-SHAPE", f"nisa.{name}: the pattern gives {count} elements for {dst.shape}.", remedy="Match dst."
        )
    return pairs


def affine_select(
    dst: NkiTensor,
    pattern: Any,
    channel_multiplier: int,
    on_true_tile: NkiTensor,
    on_false_value: float,
    cmp_op: Any = None,
    offset: int = 0,
    name: str | None = None,
) -> NkiInstruction:
    """dst = on_true_tile where cmp_op(affine value, 0), else on_false_value."""
    alike("affine_select", dst=dst, on_true_tile=on_true_tile)
    values = (
        _fitting("affine_select", dst, pattern),
        integer(channel_multiplier, "affine_select", "channel_multiplier"),
        float(number(on_false_value, "affine_select", "on_false_value")),
        optional_operation(cmp_op, "affine_select", "cmp_op", operations.COMPARISONS) or "equal",
        integer(offset, "affine_select", "offset"),
    )
    return emit("affine_select", (dst, on_true_tile), values)


def range_select(
    dst: NkiTensor,
    on_true_tile: NkiTensor,
    comp_op0: Any,
    comp_op1: Any,
    bound0: NkiTensor,
    bound1: NkiTensor,
    reduce_cmd: reduce_cmd = reduce_cmd.reset_reduce,
    reduce_res: NkiTensor | None = None,
    reduce_op: Any = None,
    range_start: int = 0,
    on_false_value: float = FP32_MIN,
    name: str | None = None,
) -> NkiInstruction:
    """dst = on_true_tile where both comparisons of the index with the bounds hold, else on_false_value."""
    alike("range_select", dst=dst, on_true_tile=on_true_tile)
    partitions = on_true_tile.shape[0]
    bounds = (
        sized("range_select", "bound0", bound0, partitions, 1),
        sized("range_select", "bound1", bound1, partitions, 1),
    )
    result = None if reduce_res is None else sized("range_select", "reduce_res", reduce_res, partitions, 1)
    values = (
        operation(comp_op0, "range_select", "comp_op0", operations.COMPARISONS),
        operation(comp_op1, "range_select", "comp_op1", operations.COMPARISONS),
        _command("range_select", reduce_cmd),
        optional_operation(reduce_op, "range_select", "reduce_op", operations.REDUCTIONS) or "maximum",
        integer(range_start, "range_select", "range_start"),
        float(number(on_false_value, "range_select", "on_false_value")),
    )
    return emit("range_select", (dst, result, on_true_tile, *bounds), values)


def _command(name: str, value: Any) -> str:
    return choice(value, reduce_cmd, name, "reduce_cmd")
