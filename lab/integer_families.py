"""Which families inputs of integers get: ranges, ends, marks, and what two of them are to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Final

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import (
    deciding,
    echoes,
    folded,
    laid,
    lines,
    linked,
    mirrored,
    planes,
    relations,
    series,
    silences,
    tracks,
    waves,
    whole_numbers,
)
from nki_anvil.backends.worker import led as places_in_order
from nki_anvil.lab.planned_case import Plan, drawn_shape, is_many, laid_pairs, range_of, turning

EDGES: Final = 48
"""Cases of integers at edges and marks at most: a single position, or a length, is at one in each."""
BESIDE: Final = 8
"""Pairs of integers at most that are beside each other, and cases of each pair."""
GRAPHS: Final = 4
"""Pairs of integers at most that are both ends of edges."""
LEVEL: Final = 4
"""Pairs of integers and of what spreads over them at most."""


def whole(integers: list[InputSpec], gathered: Mapping[str, Sequence[int]]) -> Iterator[Plan]:
    """All integers together until each had every regime, and each alone where there are several."""
    if not integers:
        return
    shapes = [drawn_shape(spec) for spec in integers]
    for family, turned in (("whole", False), ("whole/turned", True)):
        turns = [whole_numbers.turns(shape, turned) for shape in shapes if not turned or len(shape) > 1]
        yield from (Plan(f"{family}/{turn}") for turn in range(max(turns, default=0)))
    ranges = [range_of(spec) for spec in integers]
    ends = [len(whole_numbers.near_edges(within)) for within in ranges]
    cases = max(-(-count // max(1, prod(shape))) for count, shape in zip(ends, shapes, strict=True))
    yield from (Plan(f"whole/edges/{turn}") for turn in range(min(cases, EDGES)))
    if any(is_many(spec) for spec in integers):
        yield from (Plan(f"whole/few/{turn}") for turn in range(whole_numbers.FEW))
        yield from (Plan(f"whole/again/{turn}") for turn in range(whole_numbers.AGAIN))
        yield from (Plan(f"whole/arranged/{turn}") for turn in range(whole_numbers.ARRANGED))
        yield from (Plan(f"whole/multiples/{turn}") for turn in range(whole_numbers.MULTIPLES))
        yield from (Plan(f"whole/interrupted/{turn}") for turn in range(whole_numbers.INTERRUPTED))
        yield from (Plan(f"whole/series/{turn}") for turn in range(series.CASES))
        yield from (Plan(f"whole/waves/{turn}") for turn in range(waves.CASES))
        yield from (Plan(f"whole/silent/{turn}") for turn in range(2 * silences.CASES))
        yield from (Plan(f"whole/echoed/{turn}") for turn in range(2 * echoes.CASES))
        yield from (Plan(f"whole/mirrored/{turn}") for turn in range(2 * mirrored.CASES))
        yield from (Plan(f"whole/lines/{turn}") for turn in range(lines.CASES))
    for (one, other), turns in laid_pairs(integers, gathered, laid.INTEGER_TURNS).items():
        yield from (Plan(f"whole/laid/axes:{one},{other}/{turn}") for turn in range(turns))
    yield from (Plan(f"whole/{variant}") for variant in turning(integers, gathered))
    if planar := [shape for shape in shapes if len(shape) > 1 and min(shape[-2:]) > 1]:
        yield from (Plan(f"whole/laid/{turn}") for turn in range(max(map(laid.whole_turns, planar))))
        yield from (Plan(f"whole/tiles/{turn}") for turn in range(whole_numbers.TILED))
        yield from (Plan(f"whole/flat/{turn}") for turn in range(max(map(_flat, shapes, ranges))))
        yield from (Plan(f"whole/folded/{turn}") for turn in range(max(len(folded.shapes_of(s[-1])) for s in planar)))
    if len(integers) > 1:
        yield from (Plan("whole", spec.name) for spec in integers)
        yield from (Plan(f"whole/ends/{turn}") for turn in range(2))
        yield from _beside(integers, ranges)


def _flat(shape: Sequence[int], within: whole_numbers.Range) -> int:
    """Cases of rows that are planes, one more where paths are of any of three numbers."""
    return laid.flat_turns(shape, laid.INTEGER_TURNS, 2 if within.high - within.low > 1 else 1)


def whole_throughout(integers: list[InputSpec], gathered: Mapping[str, Sequence[int]]) -> Iterator[Plan]:
    """What one output gathers over more than rows; and two integers nearly the same, places apart, or joined."""
    for spec in integers:
        shape, axes = drawn_shape(spec), gathered.get(spec.name, ())
        if tuple(axes) not in ((), (len(shape) - 1,)):
            groups = planes.how_many(shape, axes)
            turns = whole_numbers.turns((groups, prod(shape) // groups), False)
            yield from (Plan(f"whole/throughout/{turn}", spec.name) for turn in range(turns))
    for one, other in combinations(integers, 2):
        if drawn_shape(one) == drawn_shape(other) and is_many(one):
            yield from [Plan(f"whole/nearly:{other.name}", one.name)] * 2
            yield from [Plan(f"whole/summed:{other.name}", one.name)] * 2
            yield from [Plan(f"whole/shifted:{other.name}", one.name)] * 2
            yield from [Plan(f"whole/spliced:{other.name}", one.name)] * 3
            yield from [Plan(f"whole/joined:{one.name}:{other.name}")] * 2
    yield from _linked(integers)


def _linked(integers: list[InputSpec]) -> Iterator[Plan]:
    """Integers as both ends of edges or corners of cells, those of one shape or one with an axis of few; and as places
    that lead on."""
    nodes = [spec for spec in integers if is_many(spec) and _is_wide(spec)]
    for names, shape in _corners(nodes):
        yield from (Plan(f"whole/corners:{':'.join(names)}/{turn}") for turn in _graphs(shape, integers))
    for spec in nodes:
        shape = drawn_shape(spec)
        if linked.corner_axis(shape) is not None:
            several = linked.sides(len(linked.KINDS), _says_which(integers))
            yield from (Plan(f"whole/cells/{turn}", spec.name) for turn in several)
        if linked.APART <= int(spec.high or 0) < linked.rows_of(shape)[1]:
            yield from (Plan(f"whole/pointers/{turn}", spec.name) for turn in _graphs(shape, integers))


def built(integers: list[InputSpec]) -> Iterator[Plan]:
    """Chains of nodes of several kinds, or named by slots, winding tracks, and sequences of other lengths edited."""
    nodes = [spec for spec in integers if is_many(spec) and _is_wide(spec)]
    sides = linked.sides(1, _says_which(integers))
    for names, _ in _corners(nodes):
        yield from (Plan(f"whole/apart:{':'.join(names)}/{turn}") for turn in sides)
    for spec in nodes:
        if linked.corner_axis(drawn_shape(spec)) is not None:
            yield from (Plan(f"whole/apart/{turn}", spec.name) for turn in sides)
            yield Plan("whole/track", spec.name)
        if linked.slot(drawn_shape(spec), range_of(spec)) is not None:
            yield from (Plan(f"whole/slots/{turn}", spec.name) for turn in _graphs(drawn_shape(spec), integers))
        yield from (Plan(f"whole/packed/{turn}", spec.name) for turn in range(2 * len(tracks.factors(range_of(spec)))))
    for one, other in combinations(nodes, 2):
        (*rows, length), (*others, another) = drawn_shape(one), drawn_shape(other)
        if rows == others and length != another:
            yield from [Plan(f"whole/spliced:{other.name}", one.name)] * 3


def decisive(integers: list[InputSpec]) -> Iterator[Plan]:
    """One number that half of all places hold, one place that holds a number, and one that decides between two rows."""
    many = [spec for spec in integers if is_many(spec) and _is_wide(spec)]
    for spec in many:
        yield from (Plan(f"whole/favoured/{turn}", spec.name) for turn in range(deciding.FAVOURED))
        yield from (Plan(f"whole/lone/{turn}", spec.name) for turn in range(deciding.LONE))
    for one, other in combinations(many, 2):
        if drawn_shape(one) == drawn_shape(other):
            yield from [Plan(f"whole/contrary:{other.name}", one.name)] * 2


def led(integers: list[InputSpec], varied: list[InputSpec]) -> Iterator[Plan]:
    """Places that lead to those before them, in order, where other inputs are of their shape."""
    for spec in integers:
        shape = drawn_shape(spec)
        beside = any(other.name != spec.name and drawn_shape(other) == shape for other in varied)
        if beside and linked.APART <= int(spec.high or 0) < linked.rows_of(shape)[1]:
            yield from (Plan(f"whole/led/{turn}", spec.name) for turn in range(places_in_order.TURNS))


def _corners(nodes: list[InputSpec]) -> Iterator[tuple[list[str], Sequence[int]]]:
    """Inputs that are corners together, and their shape: two of one, and all of one where there are more."""
    pairs = [(one, two) for one, two in combinations(nodes, 2) if drawn_shape(one) == drawn_shape(two)]
    yield from (([one.name, two.name], drawn_shape(one)) for one, two in pairs[:GRAPHS])
    for shape in dict.fromkeys(tuple(drawn_shape(spec)) for spec in nodes):
        alike = [spec.name for spec in nodes if tuple(drawn_shape(spec)) == shape]
        if 2 < len(alike) <= linked.CORNERS:
            yield alike, shape


def _graphs(shape: Sequence[int], integers: list[InputSpec]) -> list[int]:
    """Cases until each kind of graph came twice, or once where there is one in each."""
    kinds = len(linked.KINDS) if linked.rows_of(shape)[0] < len(linked.KINDS) else 2
    return linked.sides(kinds, _says_which(integers))


def _says_which(integers: list[InputSpec]) -> bool:
    ranges = ((int(spec.high or 0) - int(spec.low or 0), prod(drawn_shape(spec))) for spec in integers)
    return any(width < linked.APART and size > 1 for width, size in ranges)


def _is_wide(spec: InputSpec) -> bool:
    return int(spec.high or 1) - int(spec.low or 0) >= linked.APART


def level(integers: list[InputSpec], varied: list[InputSpec]) -> Iterator[Plan]:
    """Integers that are, in rows, the input which spreads over them: what is left of them is nothing, or next to it."""
    pairs = [
        (spec, other)
        for spec in integers
        for other in varied
        if is_many(spec) and relations.spreads(drawn_shape(other), drawn_shape(spec))
    ]
    yield from (Plan(f"whole/level:{other.name}", spec.name) for spec, other in pairs[:LEVEL] for _ in range(2))


def _beside(integers: list[InputSpec], ranges: list[whole_numbers.Range]) -> Iterator[Plan]:
    """One of two integers of which sums or differences may be asked, by the other and what means something to both."""
    wide = [(spec, within) for spec, within in zip(integers, ranges, strict=True) if _is_wide(spec)]
    pairs = [(spec, within, other) for spec, within in wide for other, _ in wide if other is not spec]
    for spec, within, other in pairs[:BESIDE]:
        turns = min(whole_numbers.pairings(within, prod(drawn_shape(spec))), BESIDE)
        yield from (Plan(f"whole/beside:{other.name}:{turn}", spec.name) for turn in range(turns))
