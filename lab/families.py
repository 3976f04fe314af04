"""Which cases a problem gets: own draws, the families that make sense for its inputs, probes of single elements.

It plans; what a family does to numbers is ``backends/worker/inputs.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any, Final

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import depths, places, planes, regimes, relations, throughout, whole_numbers
from nki_anvil.backends.worker.bending import FINEST, mixed_turns
from nki_anvil.backends.worker.inputs import FEW
from nki_anvil.lab.specification import Specification

OWN_CASES: Final = 5
TIMED_CASES: Final = 2
"""At a large timed shape set that is not among those that get every gate; beside them one case of mixed rows, peaks
at every edge and what no mixture holds, for a kernel that is right at one shape can be wrong at another."""
TIMED_WHOLLY: Final = 1 << 19
"""Elements of inputs up to which a shape set that is only timed gets every family nevertheless."""
NEAR: Final = 4
"""Pairs of an input and another one that spreads over it, at most; half as many at large shapes."""
COMBINED: Final = 8
"""Pairs at most of inputs that are known to be added or multiplied."""

TOGETHER: Final = (
    "uniform", "outlier", "integers", "x100", "rows", "zeros", "spike", "shifted", "ties", "bands", "bands/turned",
    "signs/0", "signs/1", "tiles", "blocks", "small", "huge", "scales/0", "scales/1", "scales/2", "patterns",
)  # fmt: skip
"""Applied to all inputs at once."""
REGIONAL: Final = ("bands", "tiles", "patterns")
"""Several regimes side by side: an input of few rows takes several cases for all of them."""
SPARED: Final = ("rows", "zeros", "bands/turned", "signs/1", "signs/2", "signs/3", "scales/1", "scales/2")
"""Not at large shapes, where bands hold as many rows of those kinds, and one case has tiles of every scale."""
ALONE: Final = ("x100", "bands", "spike", "shifted")
"""Applied to one input at a time as well, where there are several."""
ALONE_LARGE: Final = 2
"""At large shapes each input gets so many of those, in turn: millions of elements show what few do not."""
PEAKS: Final = places.CASES
"""Cases of peaks at most: each has one towering element per row, at the edges of each run of rows first; all of them
together have one in every column of every tile of rows, as far as they reach."""
TOWERS: Final = 8
"""Cases of towers in planes at most: one at every end of two axes, and at edges between; half as many at large
shapes."""
EDGES: Final = 32
"""Cases of integers at edges and marks at most: a single position, or a length, is at one in each."""
APART: Final = 4
"""Numbers of a range from which on distances of two such integers mean something."""
BESIDE: Final = 8
"""Pairs of integers at most that are beside each other, and cases of each pair."""
FEW_COLUMNS: Final = 32
"""Of which bands of columns hold few of each kind."""
MARKED: Final = 2
"""Cases of floats at what the reference compares with."""
MEDLEYS: Final = 9
"""Cases in which each input is of any kind; twice as many of a lone one, and a third at large shapes."""
ROWS, ELEMENTS, AGAIN = 64, 1 << 17, 8
"""Cases of kinds drawn by lot are made again until they have so many rows, or elements, in all, at most so often."""
BY_LOT: Final = ("medley", "patterns", "near", "level", "steady", "tiles", "signs", "against", "even", "marks")
LONE_PATTERNS: Final = 2
"""Further cases of patterns of a lone input, whose parts are what pairs of inputs are elsewhere."""
BOUNDED: Final = 3
"""Cases of nearly one value of inputs that lie between bounds: how far from zero, and how nearly, is drawn by lot."""
PROBES: Final = 2
"""Per input: one at an edge, one anywhere; at large shapes one of the two, in turn."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One case to be made: what it transforms, and the probe it carries, if it is one."""

    family: str = "own"
    only: str | None = None
    probe: dict[str, Any] | None = None


def plans(
    specification: Specification,
    shapes: str,
    exact: dict[str, Any] | None,
    gathered: Mapping[str, Sequence[int]] | None = None,
    combined: Sequence[Mapping[str, str]] = (),
    met: Mapping[str, Sequence[str]] | None = None,
    *,
    large: bool = False,
    lots: int = 1,
) -> list[Plan]:
    """Every case of a shape set, and so many times those whose kinds are drawn by lot.

    The reference's process found ``exact``, the contraction if there is one, ``gathered``, by input the axes over which
    one output gathers it, ``combined``, sums and products of inputs, and ``met``, by input the families for what it
    meets of others.
    """
    inputs = [spec for spec in specification.reference_arguments(shapes).inputs if spec.shape is not None]
    planned = _planned(specification, shapes, inputs, exact, gathered, combined, met, large, lots)
    again = _again(inputs)
    return [plan for plan in planned for _ in range(again if _by_lot(plan) else 1)]


def _again(inputs: list[InputSpec]) -> int:
    """How often what is drawn by lot is drawn."""
    rows = max((prod(_shape(spec)[:-1]) for spec in inputs), default=1)
    elements = sum(prod(_shape(spec)) for spec in inputs)
    return max(1, min(AGAIN, ROWS // max(1, rows), ELEMENTS // max(1, elements)))


def _by_lot(plan: Plan) -> bool:
    return plan.family.partition("/")[0] in BY_LOT


def _planned(
    specification: Specification,
    shapes: str,
    inputs: list[InputSpec],
    exact: dict[str, Any] | None,
    gathered: Mapping[str, Sequence[int]] | None,
    combined: Sequence[Mapping[str, str]],
    met: Mapping[str, Sequence[str]] | None,
    large: bool,
    lots: int,
) -> list[Plan]:
    elements = sum(prod(_shape(spec)) for spec in inputs)
    timed_only = shapes not in specification.verify and (large or elements > TIMED_WHOLLY)
    own = [Plan()] * (TIMED_CASES if timed_only else OWN_CASES)
    varied = [spec for spec in inputs if spec.domain != "constant"]
    floats = [spec for spec in varied if "float" in spec.dtype and spec.domain not in ("integer", "index")]
    if timed_only:
        whole = [spec for spec in varied if spec not in floats]
        kept = [plan for plan in _whole(whole) if "turned" not in plan.family]
        return [
            *own,
            *_timed(varied, floats),
            *kept,
            *_throughout(varied, floats, {} if exact else gathered or {}, large),
            *_near(floats, combined, large),
            *_met(floats, met or {}),
            *_marked(floats),
            *_sunken(specification, shapes, varied, floats, gathered or {}),
            *_faint(specification, floats),
            *_named(varied, floats),
            *(_of_one_kind(varied, floats, gathered or {}) if exact is None else ()),
            *(_medleys(varied, large, lots) if exact is None else ()),
            *_whole_throughout(whole, gathered or {}),
        ]
    return [
        *own,
        *_families(varied, floats, large),
        *_near(floats, combined, large),
        *_met(floats, met or {}),
        *_marked(floats),
        *_sunken(specification, shapes, varied, floats, gathered or {}),
        *_faint(specification, floats),
        *_named(varied, floats),
        *(_of_one_kind(varied, floats, gathered or {}) if exact is None else ()),
        *(_medleys(varied, large, lots) if exact is None else ()),
        *_whole([spec for spec in varied if spec not in floats]),
        *_whole_throughout([spec for spec in varied if spec not in floats], gathered or {}),
        *_exact(specification, exact),
        *(_planes(floats, gathered or {}, large) if exact is None else ()),
        *_probes(floats, large),
    ]


def _shape(spec: InputSpec) -> tuple[int, ...]:
    """In which an input is drawn; the kernel's may be another."""
    return spec.drawn or spec.shape or ()


def _many(spec: InputSpec) -> bool:
    """Whether an input of integers is more than a length or a position."""
    return prod(_shape(spec)) > FEW


def _timed(varied: list[InputSpec], floats: list[InputSpec]) -> list[Plan]:
    """At a shape that is only timed: mixed rows, and peaks at every edge, which mixed rows have by chance.

    Where the first input has few rows, as many cases as it takes until they were of every kind, and had every edge.
    """
    first = next(iter(_wide(floats)), None)
    mixed = mixed_turns(first) if first and len(first) > 1 else 1
    edged = places.edge_turns(prod(first[:-1]), first[-1]) if first else 0
    return [
        *([Plan("mixed"), *(Plan(f"mixed/{turn}") for turn in range(1, mixed))] if varied else []),
        *(Plan(f"peaks/{turn}") for turn in range(edged)),
    ]


def _throughout(
    varied: list[InputSpec], floats: list[InputSpec], gathered: Mapping[str, Sequence[int]], large: bool
) -> Iterator[Plan]:
    """At a shape that is only timed: what no mixture of rows holds, for all that an output gathers is of one kind.

    All products large, or below zero, also beyond what masks are written as, tiles far below zero, inputs that nearly
    cancel, planes of nearly one value and far below zero, columns where it gathers those.
    """
    yield from (Plan(family) for family in ("tiles", "ties", "integers"))
    if len(floats) > 1:
        yield Plan("x100")
        yield from (Plan(f"signs/{turn}") for turn in range(regimes.SIGNED))
        yield from _beyond(varied)
        yield from (plan for plan in _related(floats, large=False) if plan.family in ("alike", "lone/0"))
    for spec in floats:
        shape, axes = _shape(spec), gathered.get(spec.name, ())
        if len(axes) > 1:
            towers = TOWERS // 2 if large else TOWERS
            yield from _throughout_axes(spec.name, axes, min(2, planes.turns(shape, axes)), towers)
        elif axes and axes[0] != len(shape) - 1:
            yield Plan("bands/turned", spec.name)


def _families(varied: list[InputSpec], floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    if not floats:
        yield from [Plan("ties")] if varied else []
        return
    for family in TOGETHER:
        if not (large and family in SPARED):
            yield from _through(family, floats[0])
    rows = prod(_shape(floats[0])[:-1])
    if 0 < rows <= FINEST:
        yield from (Plan(f"ties/{turn}") for turn in range(0, FINEST + 1, rows))
    if len(floats) > 1 and not large:
        yield from _beyond(varied)
    yield from (Plan(f"peaks/{turn}") for turn in range(_turns(floats)))
    yield from _cancelling(floats)
    yield from _related(floats, large)
    if len(floats) > 1:
        for position, spec in enumerate(floats):
            for family in _in_turn(position, large):
                yield from _through(family, spec, spec.name)


def _beyond(varied: list[InputSpec]) -> Iterator[Plan]:
    """Products beyond what masks are often written as; twice where a single length says what is masked."""
    few = any("float" not in spec.dtype and prod(_shape(spec)) <= FEW for spec in varied)
    turns = len(regimes.BEYOND) * (2 if few else 1)
    yield from (Plan(f"signs/{regimes.SIGNED + turn}") for turn in range(turns))


def _sunken(
    specification: Specification,
    shapes: str,
    varied: list[InputSpec],
    floats: list[InputSpec],
    gathered: Mapping[str, Sequence[int]],
) -> Iterator[Plan]:
    """All inputs far below zero, or above, where nothing multiplies matrices; terms beside products that are.

    Of a lone input of which outputs gather rows there are such rows in many a case.
    """
    sizes = [prod(_shape(spec)) for spec in floats]
    work = specification.work.get(shapes)
    several = len(floats) > 1 or any(spec not in floats and _many(spec) for spec in varied)
    wide = any(tuple(gathered.get(s.name, ())) not in ((), (len(_shape(s)) - 1,)) for s in floats)
    if floats and (several or wide) and not (work and work.matmul_flops):
        yield from (Plan(f"sunken/all/{turn}") for turn in range(2 * len(depths.DEPTHS)))
    if any(depths.is_small(size, max(sizes)) for size in sizes):
        yield from (Plan(f"sunken/products/{turn}") for turn in range(len(depths.DEPTHS)))


def _through(family: str, spec: InputSpec, only: str | None = None) -> Iterator[Plan]:
    """A family, as often as it takes until an input of few rows had each of its regimes."""
    yield Plan(family, only)
    if family.partition("/")[0] in REGIONAL:
        turns = regimes.turns(family, _shape(spec))
        yield from (Plan(f"{family}/{turn}", only) for turn in range(1, turns))


def _in_turn(position: int, large: bool) -> Sequence[str]:
    """The families that one input gets alone."""
    if not large:
        return ALONE
    return [ALONE[(ALONE_LARGE * position + turn) % len(ALONE)] for turn in range(ALONE_LARGE)]


def _turns(floats: list[InputSpec]) -> int:
    """Cases of peaks until every column had one in every tile, and the first row at both of its ends."""
    return max([2, *(places.turns(prod(shape[:-1]), shape[-1], PEAKS) for shape in _wide(floats))])


def _wide(floats: list[InputSpec]) -> list[tuple[int, ...]]:
    """Shapes of the inputs that have rows; of vectors where there are no others."""
    shapes = [_shape(spec) for spec in floats]
    return [shape for shape in shapes if len(shape) > 1] or [shape for shape in shapes if shape]


def _whole(integers: list[InputSpec]) -> Iterator[Plan]:
    """All integers together until each had every regime, and each alone where there are several."""
    if not integers:
        return
    shapes = [_shape(spec) for spec in integers]
    for family, turned in (("whole", False), ("whole/turned", True)):
        turns = [whole_numbers.turns(shape, turned) for shape in shapes if not turned or len(shape) > 1]
        yield from (Plan(f"{family}/{turn}") for turn in range(max(turns, default=0)))
    ranges = [
        whole_numbers.Range(int(spec.low or 0), int(spec.high or 1), tuple(map(int, spec.marks))) for spec in integers
    ]
    ends = [len(whole_numbers.near_edges(within)) for within in ranges]
    cases = max(-(-count // max(1, prod(shape))) for count, shape in zip(ends, shapes, strict=True))
    yield from (Plan(f"whole/edges/{turn}") for turn in range(min(cases, EDGES)))
    if len(integers) > 1:
        yield from (Plan("whole", spec.name) for spec in integers)
        yield from (Plan(f"whole/ends/{turn}") for turn in range(2))
        yield from _beside(integers, ranges)


def _whole_throughout(integers: list[InputSpec], gathered: Mapping[str, Sequence[int]]) -> Iterator[Plan]:
    """What one output gathers over more than rows; and two integers that are nearly the same."""
    for spec in integers:
        shape, axes = _shape(spec), gathered.get(spec.name, ())
        if tuple(axes) not in ((), (len(shape) - 1,)):
            groups = planes.how_many(shape, axes)
            turns = whole_numbers.turns((groups, prod(shape) // groups), False)
            yield from (Plan(f"whole/throughout/{turn}", spec.name) for turn in range(turns))
    for one, other in combinations(integers, 2):
        if _shape(one) == _shape(other) and _many(one):
            yield from [Plan(f"whole/nearly:{other.name}", one.name)] * 2


def _beside(integers: list[InputSpec], ranges: list[whole_numbers.Range]) -> Iterator[Plan]:
    """One of two integers of which sums or differences may be asked, by the other and what means something to both."""
    wide = [(spec, within) for spec, within in zip(integers, ranges, strict=True) if within.high - within.low >= APART]
    pairs = [(spec, within, other) for spec, within in wide for other, _ in wide if other is not spec]
    for spec, within, other in pairs[:BESIDE]:
        turns = min(whole_numbers.pairings(within, prod(_shape(spec))), BESIDE)
        yield from (Plan(f"whole/beside:{other.name}:{turn}", spec.name) for turn in range(turns))


def _cancelling(floats: list[InputSpec]) -> Iterator[Plan]:
    """One per length of a last or last but one axis: only the problem knows which of them it sums over."""
    lengths: dict[int, str] = {}
    for spec in floats:
        for length in reversed(_shape(spec)[-2:]):
            if length > 1:
                lengths.setdefault(length, spec.name)
    yield from (Plan(f"cancelling/{length}", name) for length, name in lengths.items())


def _related(floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """What inputs of one shape are to each other, a batch's matrices, and several shapes along an axis they share."""
    shapes: dict[tuple[int, ...], list[str]] = {}
    for spec in floats:
        shapes.setdefault(_shape(spec), []).append(spec.name)
    families = ("lone/0",) if large else ("lone/0", "lone/1", "alike")
    yield from (Plan(family, names[0]) for names in shapes.values() if len(names) > 1 for family in families)
    yield from (Plan("alike", names[0]) for shape, names in shapes.items() if len(shape) > 2 and len(names) == 1)
    for length in dict.fromkeys(n for shape in shapes for n in shape[-2:] if n > 1):
        sharing = [names[0] for shape, names in shapes.items() if length in shape[-2:]]
        if len(sharing) > 1:
            yield from (Plan(f"opposed/{length}", name) for name in (sharing[:1] if large else sharing[:2]))


def _near(floats: list[InputSpec], combined: Sequence[Mapping[str, str]], large: bool) -> Iterator[Plan]:
    """Inputs that nearly cancel, or whose products are nearly one value: those that are known to meet come first.

    Others spread over an input, as a given mean or a bias does, or share its rows; each large one has one in turn.
    """
    known = {spec.name for spec in floats}
    met = [c for c in combined if {c["large"], c["small"]} <= known][:COMBINED]
    plans = [
        Plan(f"level/{c['small']}" if c["how"] == "product" else f"near/{c['small']}{c['factor']}", c["large"])
        for c in met
    ]
    most = len(plans) + (NEAR // 2 if large else NEAR)
    yield from list(dict.fromkeys([*plans, *_in_rounds(floats)]))[:most]


def _met(floats: list[InputSpec], met: Mapping[str, Sequence[str]]) -> Iterator[Plan]:
    """Sums with what is computed from others that come to little beside both, and products of nearly one value."""
    yield from (Plan(family, spec.name) for spec in floats for family in met.get(spec.name, ()))


def _marked(floats: list[InputSpec]) -> Iterator[Plan]:
    if any(spec.marks for spec in floats):
        yield from [Plan("marks")] * MARKED


def _in_rounds(floats: list[InputSpec]) -> Iterator[Plan]:
    shapes = {spec.name: _shape(spec) for spec in floats}
    pairs = [
        [
            Plan(f"near/{small}", large)
            for small, other in shapes.items()
            if relations.spread(other, shape) or (prod(other) <= prod(shape) and relations.share_rows(other, shape))
        ]
        for large, shape in shapes.items()
    ]
    for turn in range(max(map(len, pairs), default=0)):
        yield from (of_one[turn] for of_one in pairs if turn < len(of_one))


def _faint(specification: Specification, floats: list[InputSpec]) -> Iterator[Plan]:
    """All inputs faint at once, in the rows of an output, if it is plain which inputs have those: else as a whole.

    Told by the shapes of the default set, for which outputs are known. It is plain where all others are weights, whose
    rows are contracted with another input's, or vectors.
    """
    if len(floats) < 2:
        return
    names = {spec.name for spec in floats}
    shapes = {s.name: _shape(s) for s in specification.reference_arguments("default").inputs if s.name in names}
    rows = {output.shape[:-1] for output in specification.outputs.get("default", ()) if len(output.shape) > 1}
    first = next((name for name, shape in shapes.items() if shape[:-1] in rows), None)
    others = [shape for shape in shapes.values() if prod(shape[:-1]) > 1 and shape[:-1] not in rows]
    contracted = all(any(shape[-2] == other[-1:][0] for other in shapes.values() if other) for shape in others)
    yield Plan("faint", first) if first and contracted else Plan("faint/whole")
    yield from (Plan("nothing/0"), Plan("nothing/1"))


def _named(varied: list[InputSpec], floats: list[InputSpec]) -> Iterator[Plan]:
    """Rows whose elements an integer for each of them names, as a label does."""
    for label in varied:
        if label in floats or not _many(label):
            continue
        rows, most = prod(_shape(label)), int(label.high or 0)
        for spec in floats:
            shape = _shape(spec)
            if len(shape) > 1 and prod(shape[:-1]) == rows and 0 < most < shape[-1]:
                yield from (Plan(f"named/{label.name}/{turn}", spec.name) for turn in range(2))


def _of_one_kind(
    varied: list[InputSpec], floats: list[InputSpec], gathered: Mapping[str, Sequence[int]]
) -> Iterator[Plan]:
    """All inputs of nearly one value; where there are several also all of them far to one side or the other."""
    largest = max((prod(_shape(spec)) for spec in floats), default=0)
    wide = [spec for spec in floats if _shape(spec) and not depths.is_small(prod(_shape(spec)), largest)]
    groups = [throughout.groups(_shape(spec), gathered.get(spec.name, ())) for spec in wide]
    whole = sum(spec not in floats and _many(spec) for spec in varied)
    if groups:
        kinds = throughout.STEADY if min(groups) == 1 else 2 if max(groups) < throughout.GROUPS or whole else 1
        kinds = max(kinds, BOUNDED if any(map(_is_bounded, wide)) else 1)
        yield from (Plan(f"steady/{turn}") for turn in range(kinds))
    elif whole:
        yield from (Plan("steady/1"), Plan("steady/2"))
    for spec in wide:
        if throughout.groups(_shape(spec), gathered.get(spec.name, ())) == 1 < prod(_shape(spec)):
            yield from (
                Plan(f"halved/{turn}", spec.name) for turn in range(throughout.HALVED * min(2, len(_shape(spec))))
            )
    several = len(floats) + whole
    if groups and several > 1:
        sides = 1 << min(several, throughout.SIDED)
        all_turns = [part + turn for part in (0, throughout.SIDES) for turn in range(sides)]
        turns = [0] if min(groups) >= 2 * throughout.SIDES else all_turns
        yield from (Plan(f"sided/{turn}") for turn in turns)


def _is_bounded(spec: InputSpec) -> bool:
    return spec.domain == "unit" or None not in (spec.low, spec.high)


def _medleys(varied: list[InputSpec], large: bool, lots: int) -> list[Plan]:
    """Twice as many of a lone input, whose parts may be several. Not where sums of exact products show as much."""
    medleys, alone = MEDLEYS // 3 if large else MEDLEYS, len(varied) == 1 and not large
    drawn = [*["medley"] * (2 * medleys if alone else medleys), *["patterns"] * (LONE_PATTERNS if alone else 0)]
    return [Plan(family) for family in drawn * lots]


def _planes(floats: list[InputSpec], gathered: Mapping[str, Sequence[int]], large: bool) -> Iterator[Plan]:
    """What one output gathers over more than an input's last axis, which rows hold already."""
    for spec in floats:
        shape, axes = _shape(spec), gathered.get(spec.name, ())
        if not axes or tuple(axes) == (len(shape) - 1,):
            continue
        few = len(axes) > 1 or planes.how_many(shape, axes) <= FEW_COLUMNS
        bent = planes.turns(shape, axes) if few else 0
        towers = min(planes.tower_turns(shape, axes), TOWERS // 2 if large else TOWERS)
        yield from _throughout_axes(spec.name, axes, bent, towers)


def _throughout_axes(name: str, axes: Sequence[int], bent: int, towers: int) -> Iterator[Plan]:
    named = ",".join(map(str, axes))
    yield from (Plan(f"planes/{named}/{turn}", name) for turn in range(bent))
    yield from (Plan(f"towers/{named}/{turn}", name) for turn in range(towers))


def _exact(specification: Specification, exact: dict[str, Any] | None) -> Iterator[Plan]:
    """20-bit integers against eight signs, both ways round: only float32 arithmetic brings them through."""
    if exact is None or specification.precision != "float32":
        return
    yield Plan(f"exact20/{exact['right_axis']}", exact["left"])
    yield Plan(f"exact20/{exact['left_axis']}", exact["right"])


def _probes(floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    for position, spec in enumerate(floats):
        for turn in [position % PROBES] if large else range(PROBES):
            yield Plan(probe={"input": spec.name, "edge": turn % 2 == 0, "turn": turn})
