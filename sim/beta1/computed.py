"""What most of Beta 1's instructions are: operands cut by the mask, a fresh result, one machine instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nki_anvil.sim import isa
from nki_anvil.sim.beta1.calls import fresh, masked, operand
from nki_anvil.sim.beta1.masks import Box
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.tensor import NkiTensor

Cut = Callable[[Tile], NkiTensor]
Fill = Callable[[NkiTensor, NkiTensor, Cut], object]
"""Called with the result, the cut operand, and what cuts the other operands; it writes the result."""


def like(tile: Tile, mask: Any, dtype: Any, fill: Fill) -> Tile:
    """A result in the shape of ``tile``, in its dtype unless another is given."""

    def run(cut: Cut) -> NkiTensor:
        source = cut(tile)
        result = fresh(source.shape, dtype or tile.format)
        fill(result, source, cut)
        return result

    return masked(mask, tile.shape, run)


def per_partition(tile: Tile, count: int, mask: Any, dtype: Any, fill: Fill) -> Tile:
    """A result of ``count`` numbers for each partition of ``tile``."""

    def run(cut: Cut) -> NkiTensor:
        source = cut(tile)
        result = fresh((source.shape[0], count), dtype)
        fill(result, source, cut)
        return result

    full: Shape = (tile.shape[0], count)
    return masked(mask, tile.shape, run, lambda box: Box((box.low[0], 0), (box.high[0], count)), full)


def column(value: Any, cut: Cut) -> Any:
    """An operand of one value per partition, or a number."""
    if not isinstance(value, Tile):
        return operand(value)
    tensor = cut(value)
    return tensor.reshape((tensor.shape[0], 1)) if tensor.size == tensor.shape[0] and tensor.ndim != 2 else tensor


def chosen(engine: Any) -> Any:
    """The engine that a kernel names, or the compiler's choice."""
    return isa.engine.unknown if engine is None else engine
