"""Reductions of ``neuronxcc.nki.language``, those of a tile and those over the iterations of loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, cast

from nki_anvil.sim import isa
from nki_anvil.sim.beta1.calls import fresh, masked, recorder, require
from nki_anvil.sim.beta1.conditions import Condition
from nki_anvil.sim.beta1.dependencies import ACCUMULATES
from nki_anvil.sim.beta1.elementwise import OPERATIONS, Operation
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.masks import Box, boxes, in_one_run, sliced
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.dtypes import INTEGERS
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.isa.operands import operation
from nki_anvil.sim.language import reductions as current
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.operations import REDUCTIONS
from nki_anvil.sim.tensor import NkiTensor


class Reduction(Operation):
    """A reduction along free dimensions."""

    def __call__(
        self, x: Any, axis: Any = None, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **options: Any
    ) -> Any:
        if not isinstance(x, Tile):
            return _PYTHON[self.__name__](x, axis) if axis is not None else _PYTHON[self.__name__](x)
        return reduced(self.operation, x, axis, dtype=dtype, mask=mask, keepdims=keepdims)


_PYTHON: Final[dict[str, Any]] = {"sum": sum, "max": max, "min": min, "prod": math.prod, "all": all}


def axes_of(axis: Any, shape: Sequence[int], what: str) -> tuple[int, ...]:
    """The dimensions in order; never the partitions."""
    given = cast("Sequence[Any]", axis) if isinstance(axis, (list, tuple)) else (axis,)
    axes = tuple(sorted(int(one) % len(shape) for one in given))
    if not axes or axes[0] == 0:
        raise TraceError(
            "NKI-AXIS",
            f"{what} along {axis}.",
            remedy="Reduce free dimensions; across partitions multiply with ones, or use nisa.tensor_partition_reduce.",
        )
    if axes != tuple(range(axes[0], axes[0] + len(axes))) or any(size != 1 for size in shape[axes[-1] + 1 :]):
        raise TraceError(
            "NKI-AXIS", f"{what} along {axis} of {tuple(shape)}.",
            remedy="It takes the last dimensions, one beside the other: index the tile by grids in that order.",
        )  # fmt: skip
    return axes


def reduced(
    op: str, x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, negate: bool = False
) -> Tile:
    """One instruction that reduces the given free dimensions of a tile."""
    tile = require(x, "A reduction")
    axes = axes_of(axis, tile.shape, "A reduction")
    wanted = dtype or tile.format
    kept = [i for i in range(tile.ndim) if i not in axes]
    full = _remaining(tile.shape, axes, keepdims)

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh(_remaining(source.shape, axes, keepdims), wanted)
        turned = source if kept == list(range(len(kept))) else source.permute((*kept, *axes))
        isa.tensor_reduce(result, OPERATIONS[op], turned, tuple(range(len(kept), source.ndim)), negate)
        return result

    def place(box: Box) -> Box:
        if keepdims:
            return Box(
                *(tuple(e if i in kept else d for i, e in enumerate(edge)) for edge, d in ((box.low, 0), (box.high, 1)))
            )
        return Box(tuple(box.low[i] for i in kept), tuple(box.high[i] for i in kept))

    return masked(mask, tile.shape, run, place, full)


def _remaining(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    kept = tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)
    return kept if len(kept) > 1 else (*kept, 1)


sum_: Final = Reduction("sum", "add")
max_: Final = Reduction("max", "maximum")
min_: Final = Reduction("min", "minimum")
prod: Final = Reduction("prod", "multiply")


def all_(x: Any, axis: Any = None, *, dtype: Any = None, mask: Any = None, **options: Any) -> Tile:
    """1 where no element is zero, else 0."""
    return reduced("minimum", OPERATIONS["not_equal"](x, 0.0, mask=mask), axis, dtype=dtype or "bool_", mask=mask)


all_.operation = "logical_and"  # type: ignore[attr-defined]


def mean(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **options: Any) -> Tile:
    """Sum in float32 over the number of elements."""
    axes = axes_of(axis, x.shape, "nl.mean")
    _leaves_whole(mask, x.shape, axes)
    total = reduced("add", x, axis, dtype="float32", mask=mask, keepdims=keepdims)
    count = math.prod(x.shape[one] for one in axes)
    return OPERATIONS["multiply"](total, 1.0 / count, dtype=dtype or ("float32" if x.format in INTEGERS else x.format))


def _leaves_whole(mask: Any, shape: Shape, axes: Sequence[int]) -> None:
    """Raises TraceError where a mask cuts what is averaged: no page says whether its number counts or the row's."""
    for box in boxes(mask, shape):
        if any(box.low[axis] > 0 or box.high[axis] < shape[axis] for axis in axes):
            raise TraceError(
                "NKI-MASK", "nl.mean or nl.var of a part of a row by a mask.",
                remedy="Take nl.sum under the mask and multiply it by one over its count.",
            )  # fmt: skip


def var(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, **options: Any) -> Tile:
    """The mean of the squared deviations."""
    centre = mean(x, axis, dtype="float32", mask=mask, keepdims=True)
    deviation = OPERATIONS["subtract"](x, centre, dtype="float32", mask=mask)
    return mean(OPERATIONS["square"](deviation, mask=mask), axis, dtype=dtype or x.format, mask=mask)


def softmax(x: Any, axis: Any, *, dtype: Any = None, compute_dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """exp(x - max) over its sum."""
    _require_full(dtype, "nl.softmax")
    in_one_run(mask, x.shape, "nl.softmax")
    return masked(mask, x.shape, lambda cut: current.softmax(cut(x), axis, dtype or x.format))


def rms_norm(
    x: Any,
    w: Any,
    axis: Any,
    n: int,
    epsilon: float = 1e-6,
    *,
    dtype: Any = None,
    compute_dtype: Any = None,
    mask: Any = None,
    **options: Any,
) -> Tile:
    """x / sqrt(sum(x^2) / n + epsilon) * w."""
    _require_full(dtype, "nl.rms_norm")
    square = OPERATIONS["square"](x, dtype="float32", mask=mask)
    total = reduced("add", square, axis, dtype="float32", mask=mask, keepdims=True)
    scaled = OPERATIONS["add"](OPERATIONS["multiply"](total, 1.0 / n), epsilon)
    normal = OPERATIONS["multiply"](x, OPERATIONS["rsqrt"](scaled), dtype="float32", mask=mask)
    return OPERATIONS["multiply"](normal, w, dtype=dtype or x.format, mask=mask)


def _require_full(dtype: Any, name: str) -> None:
    """Raises NotSimulated for a narrow result: the pages have all steps in its format, and do not say which."""
    if dtype not in (None, "float32"):
        raise NotSimulated(
            f"{name}(dtype={dtype}) computes in {dtype} inside as well, and is not simulated.",
            remedy="Leave dtype out, and let nl.copy(result, dtype=...) round.",
        )


class LoopReduction:
    """What ``nl.loop_reduce`` returns: a value that the first iteration of some loops sets and the others combine."""

    def __init__(self, value: Tile, op: str, first: bool, dtype: Any, mask: Any) -> None:
        self.value = value
        self.op = op
        self.first = first
        self.dtype = dtype
        self.mask = mask

    def onto(self, target: Tile) -> None:
        """Set or combine the target. Raises TraceError where ``dtype`` is another format than the target's."""
        if self.dtype is not None and self.dtype != target.format:
            raise TraceError(
                "NKI-DTYPE", f"nl.loop_reduce(dtype={self.dtype}) into a tile of {target.format}.",
                remedy="Give dtype the format of the destination, or leave it out.",
            )  # fmt: skip
        shape = self.value.shape
        for box in boxes(self.mask, shape):
            before = recorder().instructions_before()
            place = sliced(target.whole(), box, shape)
            source = sliced(self.value.whole(), box, shape)
            if self.first:
                isa.tensor_copy(place, source)
            else:
                isa.tensor_tensor(place, place, source, OPERATIONS[self.op])
            recorder().flag_since(before, ACCUMULATES)


def loop_reduce(
    input: Any,  # noqa: A002 - the name is NKI's
    op: Any,
    loop_indices: Any,
    *,
    dtype: Any = None,
    mask: Any = None,
    **options: Any,
) -> LoopReduction:
    """Reduce a tile over the iterations of the loops of ``loop_indices``; to be assigned to a tile outside of them."""
    what = operation(op, "loop_reduce", "op", REDUCTIONS)
    loops = {loop.depth: loop for loop in recorder().loops}
    first = True
    for index in loop_indices:
        if isinstance(index, int):
            first = first and index == 0
            continue
        if not isinstance(index, Index) or len(index.moves) != 1:
            raise TraceError(
                "NKI-TYPE", "loop_indices of nl.loop_reduce are no loop indices.", remedy="Pass [i, j] of the loops."
            )
        ((depth, step),) = index.moves.items()
        start = Index(step * loops[depth].done, {depth: step})
        first = first and bool(Condition([-start]))
    return LoopReduction(require(input, "nl.loop_reduce"), what, first, dtype, mask)


def tensor_reduce(
    op: Any,
    data: Any,
    axis: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
    negate: bool = False,
    keepdims: bool = False,
    **options: Any,
) -> Tile:
    """``nisa.tensor_reduce``."""
    return reduced(
        operation(op, "tensor_reduce", "op", REDUCTIONS),
        data,
        axis,
        dtype=dtype,
        mask=mask,
        keepdims=keepdims,
        negate=negate,
    )
