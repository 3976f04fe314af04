"""What inputs have to be for a product of matrices to come to what a shortcut behind it does not survive.

No draw of the factors makes a product far below zero or of nearly one value, or the opposite of what is added to it,
while everything else stays ordinary. Where both factors are inputs, one place of the contraction moves the product as
a whole; where one is, rows of the product are solved for from the run in which the input is as it was drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from nki_anvil.backends.worker import relations
from nki_anvil.backends.worker.inputs import AIMED, MOVED, TALL
from nki_anvil.lab.honest_runs import HonestRuns, is_float
from nki_anvil.lab.meeting import Factor, Meeting
from nki_anvil.lab.reference_module import ReferenceFault

Array = np.ndarray[Any, Any]
Factors = Mapping[str, Sequence[Factor]]

MOST: Final = 4
"""Inputs at most that are aimed with."""
SOLVED: Final = 5 / 8
"""Of a contraction's length: so many equations a factor keeps with numbers of ordinary size."""
WELL_APART: Final = 100.0
"""Largest condition of a matrix by which numbers of ordinary size are solved for, as a transform's is one."""
RIDGE: Final = 1e-10
"""Of the mean square of the rows that are solved for: what keeps equal ones from being told apart."""
LEAST: Final = 1e-3
"""Of what a product is multiplied with, beside its largest: of less no product is one value with."""
LEVEL: Final = 2.0**7
"""How far above and below zero, times the root of the contraction's length, by which what is softened is divided."""
DEPTHS: Final = (12000.0, 2.0**31, 2.0**46, 2.0**105, -12000.0)
"""How far below as a whole: beyond what maxima start at, -10000, -1e9, -1e13, -1e30; and above, for minima."""
BITS: Final = 23
"""Of what float32 holds exactly, one for what a product has besides."""
LIFTED: Final = 2.0**8
"""How many times their own size all products are moved up by: a variance in one pass is off by 2^16 roundings."""
SHORT: Final = 16.0
"""What the one factor has where the other is far from zero: gradients by that one hold what cancels in them."""


def families(runs: HonestRuns, drawn: dict[str, Any], factors: Factors) -> dict[str, list[str]]:
    """By input what its first product of matrices is aimed at; nothing where outputs only add it up."""
    found: dict[str, list[str]] = {}
    ranked = sorted(((preferred(of), name) for name, of in factors.items() if of), key=lambda one: one[0].left)
    seen: set[int] = set()
    paired: list[str] = []
    for factor, name in ranked:
        if len(found) == MOST or (factor.left and not _solvable(factor)):
            continue
        product = multiplied(factor)
        try:
            if _added_up(runs, drawn, factor, product):
                continue
            met = runs.meeting_of_product(list(drawn.values()), factor.number, product)
        except ReferenceFault:  # another product is not what the reference takes
            continue
        found[name] = [f"{AIMED}/met"] if met.opposites or met.factor is not None else []
        found[name] += [f"{AIMED}/met/{TALL}"] if met.opposites else []
        found[name] += [f"{AIMED}/level"]
        if factor.number not in seen and beside(factors, name, factor):
            found[name] += [f"{MOVED}/{turn}" for turn in range(len(DEPTHS))]
            paired.append(name)
        seen.add(factor.number)
    if len(paired) > 1:
        found[paired[0]] += [f"{AIMED}/lifted"]
    return found


def factors_of(runs: HonestRuns, drawn: dict[str, Any]) -> Factors:
    """By input of floats the products of matrices of which it is a factor."""
    inputs = list(drawn.values())
    wide = [(place, name) for place, (name, item) in enumerate(drawn.items()) if is_float(item) and item.size > 1]
    return {name: runs.meeting(inputs, place).products for place, name in wide}


def preferred(factors: Sequence[Factor]) -> Factor:
    """The first product to whose right an input stands: the rows of that are solved for in all of its columns."""
    return next((factor for factor in factors if not factor.left), factors[0])


def beside(factors: Factors, name: str, factor: Factor) -> tuple[str, Factor] | None:
    """The other input of a product, and how it is its factor; None where that is computed."""
    others = ((other, one) for other, of in factors.items() for one in of if other != name)
    return next((pair for pair in others if (pair[1].number, pair[1].left) == (factor.number, not factor.left)), None)


def multiplied(factor: Factor) -> Array:
    """The product as it is."""
    return factor.operand @ factor.other if factor.left else factor.other @ factor.operand


def moved(runs: HonestRuns, drawn: dict[str, Any], name: str, turn: int, rng: Any) -> dict[str, Array]:
    """Both factors of that product, which is far from zero as a whole and otherwise as it was, or nearly.

    It is exact in float32 in whatever order it is summed, so that what hangs on its differences is known as well as
    ever. From so far that these are nothing or everything, they are few numbers, for ties among the largest.
    """
    factors = factors_of(runs, drawn)
    factor = preferred(factors[name])
    other = beside(factors, name, factor)
    if other is None:
        return {}
    mine, theirs = _along(factor.operand, factor.left), _along(factor.other, not factor.left)
    length = int(mine.shape[-1])
    power = int(np.ceil(np.log2(abs(DEPTHS[turn]) * np.sqrt(length))))
    step = 2.0 ** -((BITS - power) // 2)
    if power > BITS:
        mine, theirs = step * np.rint(np.clip(mine, -1, 1)), step * np.rint(np.clip(theirs, -1, 1))
        only: Array = np.equal(np.arange(length), rng.integers(0, length, (*theirs.shape[:-1], 1)))
        theirs = np.where(only, theirs, 0.0)
    else:
        mine, theirs = step * np.rint(mine / step), step * np.rint(theirs / step)
    place = int(rng.integers(length))
    mine[..., place], theirs[..., place] = -SHORT, np.sign(DEPTHS[turn]) * 2.0**power / SHORT
    mine, theirs = _along(mine, factor.left), _along(theirs, not factor.left)
    return {name: _laid(drawn[name], factor, mine), other[0]: _laid(drawn[other[0]], other[1], theirs)}


def _along(operand: Array, left: bool) -> Array:
    """With the contraction along the last axis, as it is in a factor on the left; and back."""
    return operand if left else operand.swapaxes(-1, -2)


def aimed(runs: HonestRuns, drawn: dict[str, Any], name: str, kind: str, rng: Any) -> dict[str, Array]:
    """The input with which rows of that product meet their opposite or even out what they meet, or are level."""
    inputs = list(drawn.values())
    factor = preferred(runs.meeting(inputs, list(drawn).index(name)).products)
    product = multiplied(factor)
    rows = product.reshape(-1, product.shape[-1])
    if kind == "met":
        aims = _met(rows, runs.meeting_of_product(inputs, factor.number, product), rng)
        if not aims:  # a weaker draw may have lost what the first one met
            return {}
    else:
        far = LEVEL * np.sqrt(factor.operand.shape[-1 if factor.left else -2])
        aims = [np.abs(_heights(rows, rng)) * relations.far_to_a_side(len(rows), rng), rows - far, rows + far]
    dealt = rng.permutation(np.arange(len(rows)) % len(aims))
    wanted: Array = np.choose(dealt[:, None], aims)
    return {name: _laid(drawn[name], factor, _solved(factor, product, wanted.reshape(product.shape), rng))}


def lifted(runs: HonestRuns, drawn: dict[str, Any], rng: Any) -> dict[str, Array]:
    """All factors of products of two inputs, each of which is nearly one value: so are products of those products."""
    factors = factors_of(runs, drawn)
    bent = {name: item.astype(np.float64) for name, item in drawn.items() if name in factors}
    start = int(rng.integers(1 << 16))
    for name, of in factors.items():
        for factor in of:
            other = beside(factors, name, factor)
            if factor.left or other is None:
                continue
            place = start % factor.operand.shape[-2]
            height = LIFTED * float(multiplied(factor).std())
            bent[name].reshape(-1)[factor.places[..., place, :]] = height / SHORT / factor.scales[..., place, :]
            bent[other[0]].reshape(-1)[other[1].places[..., place]] = SHORT / other[1].scales[..., place]
    return bent


def _solvable(factor: Factor) -> bool:
    """Whether a factor on the left has fewer equations in each row than numbers, or as many that are well apart."""
    length, columns = factor.other.shape[-2:]
    return columns <= SOLVED * length or (columns <= length and float(np.linalg.cond(factor.other).max()) < WELL_APART)


def _added_up(runs: HonestRuns, drawn: dict[str, Any], factor: Factor, product: Array) -> bool:
    """Whether outputs are linear in the product: nothing behind it has a state of its own for large numbers."""
    inputs, apart = list(drawn.values()), np.sqrt(np.square(product).mean()) * np.cos(np.arange(product.size))
    further = product + apart.reshape(product.shape)
    base, one, other = (runs.with_product(inputs, factor.number, p) for p in (product, further, 2 * product - further))
    return all(
        np.allclose(a + c, 2 * b, rtol=0, atol=1e-9 * float(np.abs(b).max(initial=0.0)))
        for b, a, c in zip(base, one, other, strict=True)
    )


def _met(rows: Array, met: Meeting, rng: Any) -> list[Array]:
    """What makes a sum with the product come to little, and what, multiplied, is nearly one value."""
    aims: list[Array] = []
    for opposite in met.opposites:
        apart = 10.0 ** rng.uniform(*relations.APART, (len(rows), 1)) * rng.standard_normal(rows.shape)
        aims.append(opposite.reshape(rows.shape) * (1 + apart))
    if met.factor is not None:
        factor = met.factor.reshape(rows.shape)
        known = np.abs(factor) > LEAST * np.nanmax(np.abs(factor))
        aims.append(_heights(rows, rng) / np.where(known, factor, np.nan))
    return [np.where(np.isfinite(aim), aim, rows) for aim in aims]


def _heights(rows: Array, rng: Any) -> Array:
    """Rows of nearly one value, plus or minus one."""
    apart = 10.0 ** rng.uniform(*relations.LEVEL, (len(rows), 1)) * rng.standard_normal(rows.shape)
    heights: Array = rng.choice([-1.0, 1.0], (len(rows), 1)) * (1 + apart)
    return heights


def _solved(factor: Factor, product: Array, wanted: Array, rng: Any) -> Array:
    """The operand nearest to its own with which as many rows of the product as it can keep come out as wanted."""
    change: Array = wanted - product
    if factor.left:
        solved = _least(factor.other.swapaxes(-1, -2), change.swapaxes(-1, -2)).swapaxes(-1, -2)
        return _kept_shape(factor.operand, solved)
    other = factor.other
    if factor.operand.ndim == 2 and other.ndim > 2:
        other, change = other.reshape(-1, other.shape[-1]), change.reshape(-1, change.shape[-1])
    count = min(other.shape[-2], max(1, int(SOLVED * other.shape[-1])))
    chosen = rng.permutation(other.shape[-2])[:count]
    return _kept_shape(factor.operand, _least(other[..., chosen, :], change[..., chosen, :]))


def _least(rows: Array, results: Array) -> Array:
    """The smallest numbers that come to these results, or nearly where rows hang on each other."""
    squares = rows @ rows.swapaxes(-1, -2)
    least = RIDGE * float(np.square(rows).sum(axis=-1).mean()) + np.finfo(np.float64).tiny
    return rows.swapaxes(-1, -2) @ np.linalg.solve(squares + least * np.eye(rows.shape[-2]), results)


def _kept_shape(operand: Array, change: Array) -> Array:
    """An operand and its change; where it spreads over several matrices, the first one's."""
    spread = change[(0,) * (change.ndim - operand.ndim)]
    return operand + spread[tuple(slice(0, n) for n in operand.shape)]


def _laid(argument: Array, factor: Factor, operand: Array) -> Array:
    """The argument whose elements come to this operand."""
    values: Array = argument.astype(np.float64)
    flat = values.reshape(-1)
    flat[factor.places.reshape(-1)] = ((operand - factor.offsets) / factor.scales).reshape(-1)
    return values
