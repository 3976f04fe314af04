"""Conditions and grids as data: iota, affine_select, and predicates made of index comparisons."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from nki_anvil.sim import isa
from nki_anvil.sim.beta1.calls import fresh, in_sbuf, operand, require
from nki_anvil.sim.beta1.conditions import Condition
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.scattered import Scattered
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.tensor import NkiTensor

_WIDE_INTEGERS: Final = frozenset({"int32", "uint32"})


def iota(expr: Any, dtype: Any, *, mask: Any = None, **options: Any) -> Tile:
    """A tile of the values of an index expression."""
    if isinstance(expr, Scattered):
        raise TraceError(
            "NKI-AFFINE", "nisa.iota of a product, quotient or remainder of indices: it takes affine expressions.",
            remedy="Compute it from tiles that iota makes of sums of indices times numbers.",
        )  # fmt: skip
    if not isinstance(expr, Index):
        raise TraceError("NKI-TYPE", "nisa.iota of no index expression.", remedy="Pass nl.arange(n)[None, :] ...")
    value = _now(expr)
    shape = (*expr.shape, *(1,) * (2 - len(expr.shape)))
    steps = (*expr.steps, *(0,) * (len(shape) - len(expr.steps)))
    result = fresh(shape, dtype)
    isa.iota(result, list(zip(steps[1:], shape[1:], strict=True)), value, steps[0])
    return Tile(result, fresh=True)


def _now(expr: Index) -> int:
    """The value at the grid's origin, for which the loops around are held to this iteration."""
    return int(Index(expr.value, expr.moves))


def _constant(values: Any, dtype: Any) -> NkiTensor:
    from nki_anvil.sim.beta1.creation import shared_constant

    held = shared_constant(values, dtype).whole()
    result = fresh(held.shape, held.dtype)
    isa.dma_copy(result, held)
    return result


def as_predicate(condition: Any, shape: Shape) -> Tile:
    """A tile of zeros and ones: the condition itself where it is a tile, else made of an index comparison."""
    if isinstance(condition, Tile):
        return condition
    if not isinstance(condition, Condition):
        raise TraceError("NKI-TYPE", "A condition is neither a tile nor a comparison.", remedy="Compare with nl.less.")
    values = np.broadcast_to(condition.array(), shape).astype(np.uint8)
    return Tile(_constant(values, "uint8"))


def affine_select(
    pred: Any, on_true_tile: Any, on_false_value: Any, *, mask: Any = None, dtype: Any = None, **options: Any
) -> Tile:
    """The tile where an index comparison holds, else a number."""
    tile = require(on_true_tile, "nisa.affine_select")
    if {tile.format, dtype} & _WIDE_INTEGERS:
        raise TraceError(
            "NKI-DTYPE", "nisa.affine_select of 32-bit integers, which Beta 1 does not take.",
            remedy="Use nl.where with a condition of index grids, or float32 as long as numbers are below 2^24.",
        )  # fmt: skip
    _refuse_joined(pred)
    wanted = dtype or tile.format
    number = operand(on_false_value)
    if isinstance(pred, Condition) and pred.holds is None and len(pred.terms) == 1 and mask is None:
        return _by_comparison(pred.terms[0], tile, float(number), wanted)
    from nki_anvil.sim.beta1.elementwise import where

    return where(pred, tile, float(number), dtype=wanted, mask=mask)


def _refuse_joined(pred: Any) -> None:
    """Equality is two terms, one the other's opposite."""
    terms = pred.terms if isinstance(pred, Condition) else ()
    equality = len(terms) == 2 and bool(np.array_equal(terms[0].numbers(), -terms[1].numbers()))
    if len(terms) == 1 or equality:
        return
    raise TraceError(
        "NKI-MASK", "The predicate of nisa.affine_select is not one comparison of affine index expressions.",
        remedy="Use nl.where, or one affine_select for each comparison.",
    )  # fmt: skip


def _by_comparison(term: Index, tile: Tile, number: float, dtype: Any) -> Tile:
    shape = tile.shape
    filled = (*term.steps, *(0,) * (len(shape) - len(term.steps)))
    result = fresh(shape, dtype)
    pattern = list(zip(filled[1:], shape[1:], strict=True))
    operations = _comparison("greater_equal")
    isa.affine_select(result, pattern, filled[0], in_sbuf(tile.whole()), number, operations, _now(term))
    return Tile(result, fresh=True)


def _comparison(name: str) -> Any:
    from nki_anvil.sim.beta1.elementwise import OPERATIONS

    return OPERATIONS[name]
