"""Which inputs ascend along their last axis in every case, are permutations there, or repeat nothing: as declared, or
as drawn.

Bin edges, beginnings of sequences and tables that are searched ascend; orders and ranks are permutations; slots that
are written to are distinct. A kernel may rely on any of these, and no honest one is right on others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

from nki_anvil.backends.errors import ProblemInvalid
from nki_anvil.backends.job import InputSpec, Order, ShapeSet
from nki_anvil.backends.worker.arguments import distinct_rows
from nki_anvil.lab.problem_file import InputEntry

BEYOND_CHANCE: Final = 20.0
"""Bits: by chance a draw in no order would be in one once in a million draws."""
ENDS_BEYOND_CHANCE: Final = 10.0
"""Of the numbers with which sorted rows begin and end."""
_REMEDY: Final = "Correct it and open the problem again."

Draws = Sequence[Mapping[str, Any]]
Arguments = dict[str, ShapeSet]


def ordered(
    arguments: Arguments, entries: Mapping[str, InputEntry], draws: Sequence[Draws]
) -> tuple[Arguments, list[str]]:
    """The arguments with their orders, by shape set, and a sentence for each that only the draws tell of.

    Raises ProblemInvalid for a declared one that cannot be: a permutation of more integers than the last axis has
    places, or of fewer; an end that nothing tells.
    """
    orders: dict[str, Order] = {}
    said: list[str] = []
    for position, spec in enumerate(arguments["default"].inputs):
        entry = entries.get(spec.name)
        if entry is not None and entry.order is not None:
            orders |= {} if entry.order == "any" else {spec.name: entry.order}
        elif (found := _drawn_in(spec, [drawn[position] for drawn in draws])) is not None:
            orders[spec.name] = found
            how = f"{_in_words(spec, found)} along its last axis in every draw"
            said.append(f"get_inputs draws {spec.name} {how}: all cases do.")
    return {shapes: _with(found, orders, entries) for shapes, found in arguments.items()}, said


def _drawn_in(spec: InputSpec, draws: Draws) -> Order | None:
    """The order of all draws; none where it may be chance, or where there is nothing to be in order."""
    if spec.domain == "constant" or not all("ascending" in drawn for drawn in draws):
        return None
    different = list({drawn["digest"]: drawn for drawn in draws}.values())
    found = _arranged_in(spec, draws, different)
    if found is None and all(drawn["distinct"] for drawn in draws):
        found = "distinct" if _distinct_bits(spec) * len(different) >= BEYOND_CHANCE else None
    return None if found is None or _objection(spec, found) else found


def _arranged_in(spec: InputSpec, draws: Draws, different: Draws) -> Order | None:
    if sum(drawn["bits"] for drawn in different) < BEYOND_CHANCE:
        return None
    if all(drawn["ascending"] for drawn in draws):
        return _with_ends(spec, different)
    permute = all(drawn["permutation"] for drawn in draws) and len({drawn["min"] for drawn in draws}) == 1
    return "permutation" if permute else None


def _distinct_bits(spec: InputSpec) -> float:
    """How unlikely it is that integers in that range, drawn one by one, repeat none: of one draw."""
    shape = spec.drawn or spec.shape or (1,)
    numbers = int((spec.high or 0.0) - (spec.low or 0.0)) + 1
    rows, length = distinct_rows(shape)
    if length > numbers:
        return 0.0
    ways = math.lgamma(numbers + 1) - math.lgamma(numbers - length + 1) - length * math.log(numbers)
    return -rows * ways / math.log(2)


def _with_ends(spec: InputSpec, draws: Draws) -> Order:
    """What ascends may begin at the smallest number always, and end at the largest, as sequences do that fill a row."""
    if spec.low is None or spec.high is None or not _begin_beyond_chance(spec, len(draws)):
        return "ascending"
    first = all(drawn["first"] == spec.low for drawn in draws)
    last = all(drawn["last"] == spec.high for drawn in draws)
    if first and last:
        return "ascending from low to high"
    return "ascending from low" if first else "ascending to high" if last else "ascending"


def _begin_beyond_chance(spec: InputSpec, draws: int) -> bool:
    """Whether as many rows of any integers in that range would hardly all have an end of it."""
    *rows, length = spec.drawn or spec.shape or (1,)
    numbers = (spec.high or 0.0) - (spec.low or 0.0) + 1
    by_chance = 1 - (1 - 1 / numbers) ** length
    return by_chance < 1 and -math.log2(by_chance) * prod(rows) * draws >= ENDS_BEYOND_CHANCE


def _with(arguments: ShapeSet, orders: Mapping[str, Order], entries: Mapping[str, InputEntry]) -> ShapeSet:
    found: list[InputSpec] = []
    for spec in arguments.inputs:
        order, entry = orders.get(spec.name), entries.get(spec.name)
        if order is not None and (why := _objection(spec, order)):
            if entry is not None and entry.order == order:
                raise ProblemInvalid(f"problem.toml: inputs.{spec.name} {why} at {arguments.name}.", _REMEDY)
            order = None
        found.append(spec.model_copy(update={"order": order}))
    return arguments.model_copy(update={"inputs": tuple(found)})


def _objection(spec: InputSpec, order: Order) -> str:
    """Why an input cannot be in an order; empty where it can."""
    for end, named in ((spec.low, "low"), (spec.high, "high")):
        if end is None and (named in order or order in ("permutation", "distinct")):
            return f'has order = "{order}" and no {named}'
    if order == "distinct":
        return _objection_to_distinct(spec)
    if order != "permutation":
        return ""
    if "float" in spec.dtype and spec.domain not in ("integer", "index"):
        return 'is a permutation and needs domain = "integer [low, high]"'
    places, low, high = (spec.drawn or spec.shape or (0,))[-1], spec.low or 0.0, spec.high or 0.0
    if high - low + 1 == places:
        return ""
    counted = f"the {high - low + 1:g} integers {low:g} to {high:g}"
    return f"is a permutation of {counted}, but its last axis has {places} places"


def _objection_to_distinct(spec: InputSpec) -> str:
    shape, low, high = spec.drawn or spec.shape or (0,), spec.low or 0.0, spec.high or 0.0
    if "float" in spec.dtype:
        return f'has order = "distinct", which is for integers, not for {spec.dtype}'
    _, places = distinct_rows(shape)
    if high - low + 1 >= places:
        return ""
    return f"cannot be distinct: {places} places, and {high - low + 1:g} integers from {low:g} to {high:g}"


def _in_words(spec: InputSpec, order: Order) -> str:
    low, high = f"{spec.low or 0:g}", f"{spec.high or 0:g}"
    if order == "permutation":
        return f"as permutations of {low} to {high}"
    if order == "distinct":
        return "without a number that comes twice"
    return order.replace("low", low).replace("high", high)
