"""Which cases a problem gets: own draws, the families that make sense for its inputs, probes of single elements.

It plans; what a family does to numbers is ``backends/worker/inputs.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import (
    arranged,
    clusters,
    depths,
    foremost,
    heavy,
    laid,
    normed,
    pillars,
    places,
    planes,
    regimes,
    silences,
    throughout,
    tuples,
    waves,
)
from nki_anvil.backends.worker.arguments import ABOVE
from nki_anvil.backends.worker.bending import FINEST, mixed_turns
from nki_anvil.backends.worker.inputs import DRAWN, FEW
from nki_anvil.lab import families_by_lot, integer_families, related_families
from nki_anvil.lab.planned_case import Plan, drawn_shape, is_many, laid_pairs, sloping, turning
from nki_anvil.lab.specification import Specification

OWN_CASES: Final = 5
TIMED_CASES: Final = 2
"""At a large timed shape set that is not among those that get every gate; beside them one case of mixed rows, peaks
at every edge and what no mixture holds, for a kernel that is right at one shape can be wrong at another."""
TIMED_WHOLLY: Final = 1 << 19
"""Elements of inputs up to which a shape set that is only timed gets every family nevertheless."""

TOGETHER: Final = (
    "uniform", "outlier", "integers", "x100", "rows", "zeros", "spike", "shifted", "ties", "bands", "bands/turned",
    "signs/0", "signs/1", "tiles", "blocks", "small", "huge", "scales/0", "scales/1", "scales/2", "patterns",
)  # fmt: skip
"""Applied to all inputs at once."""
REGIONAL: Final = ("bands", "tiles", "patterns")
"""Several regimes side by side: an input of few rows takes several cases for all of them."""
SPARED: Final = ("rows", "zeros", "bands/turned", "signs/1", "signs/2", "signs/3", "signs/4", "scales/1", "scales/2")
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
LONE_PLANES, BETWEEN = 2, 10
"""Of so few planes there are so many cases more of towers at edges between: each plane has one in a case."""
FEW_COLUMNS: Final = 32
"""Of which bands of columns hold few of each kind."""
SUNKEN: Final = 4
"""Inputs at most that are far below zero while others are silent for long."""
MARKED: Final = 2
"""Cases of floats at what the reference compares with."""
BOUNDED: Final = 3
"""Cases of nearly one value of inputs that lie between bounds: how far from zero, and how nearly, is drawn by lot."""
LAID_LARGE: Final = 5
"""At large shapes one in so many of the structures that lie over two axes."""
LAST_LARGE: Final = 2
"""Cases of a short last tile at large shapes, where bands hold more rows."""
PROBES: Final = 2
"""Per input: one at an edge, one anywhere; at large shapes one of the two, in turn."""


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
    again = families_by_lot.again(inputs)
    return [plan for plan in planned for _ in range(again if families_by_lot.by_lot(plan) else 1)]


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
    elements = sum(prod(drawn_shape(spec)) for spec in inputs)
    timed_only = shapes not in specification.verify and (large or elements > TIMED_WHOLLY)
    count = TIMED_CASES if timed_only else OWN_CASES
    own = [*[Plan()] * count, *_by_get_inputs(specification, TIMED_CASES if large else count)]
    varied = [spec for spec in inputs if spec.domain != "constant"]
    floats = [spec for spec in varied if "float" in spec.dtype and spec.domain not in ("integer", "index")]
    whole = [spec for spec in varied if spec not in floats]
    numbers = sum(prod(output.shape) for output in specification.outputs.get("default", ()))
    lone = all(prod(output.shape) == 1 for output in specification.outputs.get("default", ()))
    if timed_only:
        kept = [plan for plan in integer_families.whole(whole, gathered or {}) if "turned" not in plan.family]
        return [
            *own,
            *_timed(varied, floats),
            *kept,
            *_throughout(varied, floats, {} if exact else gathered or {}, large),
            *related_families.near(floats, combined, large),
            *(related_families.throughout(floats, combined, gathered or {}) if exact is None else ()),
            *_met(floats, met or {}),
            *_marked(floats),
            *_sunken(specification, shapes, varied, floats, gathered or {}),
            *related_families.faint(specification, floats),
            *related_families.named(varied, floats, large=True),
            *related_families.leading(specification, shapes, varied, floats, large=True),
            *related_families.gated(floats, large=True),
            *related_families.circle(floats, large=True),
            *_laid(floats, gathered or {}, large=True),
            *related_families.grouped(varied, floats),
            *_normed(floats, large=True),
            *(_at_large_shapes(floats, gathered or {}) if exact is None else ()),
            *(related_families.terraces(specification, shapes, floats, gathered or {}, True) if exact is None else ()),
            *(_of_one_kind(varied, floats, gathered or {}, lone) if exact is None else ()),
            *(families_by_lot.medleys(varied, large, lots) if exact is None else ()),
            *integer_families.whole_throughout(whole, gathered or {}),
            *integer_families.level(whole, varied),
            *integer_families.built(whole),
        ]
    return [
        *own,
        *_families(varied, floats, large),
        *related_families.kindred(specification, shapes, floats, large),
        *related_families.near(floats, combined, large),
        *(related_families.throughout(floats, combined, gathered or {}) if exact is None else ()),
        *(related_families.delayed(floats) if exact is None and not large else ()),
        *_met(floats, met or {}),
        *_marked(floats),
        *_sunken(specification, shapes, varied, floats, gathered or {}),
        *related_families.faint(specification, floats),
        *related_families.sole(specification, shapes, floats, large),
        *related_families.named(varied, floats, large),
        *related_families.leading(specification, shapes, varied, floats, large),
        *related_families.grouped(varied, floats),
        *related_families.gated(floats, large),
        *related_families.circle(floats, large),
        *(related_families.twins(floats, large) if exact is None else ()),
        *_laid(floats, gathered or {}, large),
        *_normed(floats, large),
        *(_by_rows("waves", waves.turns, floats, gathered or {}, large) if exact is None else ()),
        *(_by_rows("heavy", heavy.turns, floats, gathered or {}, large) if exact is None else ()),
        *(_silent(floats, large) if exact is None else ()),
        *(_of_one_kind(varied, floats, gathered or {}, lone) if exact is None else ()),
        *(related_families.terraces(specification, shapes, floats, gathered or {}, large) if exact is None else ()),
        *(families_by_lot.medleys(varied, large, lots) if exact is None else ()),
        *integer_families.whole(whole, gathered or {}),
        *integer_families.whole_throughout(whole, gathered or {}),
        *integer_families.level(whole, varied),
        *_exact(specification, exact),
        *(_planes(floats, gathered or {}, large) if exact is None else ()),
        *(_in_groups("foremost", foremost.turns, floats, gathered or {}, large) if exact is None else ()),
        *(_in_groups("tuples", tuples.turns, floats, gathered or {}, large) if exact is None else ()),
        *(_in_groups("arranged", arranged.turns, floats, gathered or {}, large) if exact is None else ()),
        *(related_families.outcast(floats, large) if exact is None else ()),
        *_probes(floats, large),
        *integer_families.built(whole),
        *(_between(floats, gathered or {}) if exact is None and not large else ()),
        *(() if large else related_families.masked(varied, floats)),
        *(sloping("laid", floats) if exact is None and not large else ()),
        *(sloping("whole", whole) if exact is None and not large else ()),
        *(() if large else integer_families.decisive(whole)),
        *(related_families.doubles(varied, numbers) if exact is None and not large else ()),
        *(_pillars(specification, floats) if exact is None and not large else ()),
        *(() if large else integer_families.led(whole, varied)),
        *(_clusters(floats) if exact is None and not large else ()),
    ]


def _by_get_inputs(specification: Specification, count: int) -> list[Plan]:
    """As the reference's author draws inputs, where own draws go by what problem.toml declares of them."""
    return [] if specification.own_draws == "reference" or specification.inferred else [Plan(DRAWN)] * count


def _at_large_shapes(floats: list[InputSpec], gathered: Mapping[str, Sequence[int]]) -> Iterator[Plan]:
    """One case of each of those that take few rows each for what they hold."""
    yield from _by_rows("waves", waves.turns, floats, gathered, large=True)
    yield from _silent(floats, large=True)
    yield from _in_groups("foremost", foremost.turns, floats, gathered, large=True)
    yield from _in_groups("tuples", tuples.turns, floats, gathered, large=True)
    yield from _by_rows("heavy", heavy.turns, floats, gathered, large=True)
    yield from _in_groups("arranged", arranged.turns, floats, gathered, large=True)
    yield from related_families.outcast(floats, large=True)


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

    All products large, or below zero, also beyond what masks are written as, tiles far below zero or each at a scale of
    its own, inputs that nearly cancel, planes of nearly one value and far below zero, columns where it gathers those.
    """
    yield from (Plan(family) for family in ("tiles", "ties", "integers", "scales/0"))
    if len(floats) > 1:
        yield Plan("x100")
        yield from (Plan(f"signs/{turn}") for turn in range(regimes.SIGNED))
        yield from _beyond(varied)
        yield from (
            plan
            for plan in related_families.related(floats, large=False)
            if plan.family in ("alike", "lone/0") or plan.family.startswith("opposed")
        )
    for spec in floats:
        shape, axes = drawn_shape(spec), gathered.get(spec.name, ())
        if len(axes) > 1:
            towers = range(TOWERS // 2 if large else TOWERS)
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
    rows = prod(drawn_shape(floats[0])[:-1])
    if 0 < rows <= FINEST:
        yield from (Plan(f"ties/{turn}") for turn in range(0, FINEST + 1, rows))
    if len(floats) > 1 and not large:
        yield from _beyond(varied)
    yield from (Plan(f"peaks/{turn}") for turn in range(_turns(floats)))
    if not large:
        yield from (Plan(f"peaks/down/{turn}") for turn in range(_turns(floats)))
    short = max((regimes.last_turns(drawn_shape(spec)) for spec in floats), default=0)
    yield from (Plan(f"last/{turn}") for turn in range(LAST_LARGE if short and large else short))
    yield from _cancelling(floats)
    yield from related_families.related(floats, large)
    if len(floats) > 1:
        for position, spec in enumerate(floats):
            for family in _in_turn(position, large):
                yield from _through(family, spec, spec.name)


def _beyond(varied: list[InputSpec]) -> Iterator[Plan]:
    """Products beyond what masks are often written as; twice where a single length says what is masked."""
    few = any("float" not in spec.dtype and prod(drawn_shape(spec)) <= FEW for spec in varied)
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
    sizes = [prod(drawn_shape(spec)) for spec in floats]
    work = specification.work.get(shapes)
    several = len(floats) > 1 or any(spec not in floats and is_many(spec) for spec in varied)
    wide = any(tuple(gathered.get(s.name, ())) not in ((), (len(drawn_shape(s)) - 1,)) for s in floats)
    if floats and (several or wide) and not (work and work.matmul_flops):
        yield from (Plan(f"sunken/all/{turn}") for turn in range(2 * len(depths.DEPTHS)))
        for spec in [s for s in floats if several and is_many(s) and s.domain not in ABOVE][:SUNKEN]:
            yield from (Plan(f"sunken/silent:{spec.name}/{turn}") for turn in range(len(depths.BESIDE_SILENCE)))
    if any(depths.is_small(size, max(sizes)) for size in sizes):
        yield from (Plan(f"sunken/products/{turn}") for turn in range(depths.FACTORED))


def _through(family: str, spec: InputSpec, only: str | None = None) -> Iterator[Plan]:
    """A family, as often as it takes until an input of few rows had each of its regimes."""
    yield Plan(family, only)
    if family.partition("/")[0] in REGIONAL:
        turns = regimes.turns(family, drawn_shape(spec))
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
    shapes = [drawn_shape(spec) for spec in floats]
    return [shape for shape in shapes if len(shape) > 1] or [shape for shape in shapes if shape]


def _cancelling(floats: list[InputSpec]) -> Iterator[Plan]:
    """One per length of a last or last but one axis: only the problem knows which of them it sums over."""
    lengths: dict[int, str] = {}
    for spec in floats:
        for length in reversed(drawn_shape(spec)[-2:]):
            if length > 1:
                lengths.setdefault(length, spec.name)
    yield from (Plan(f"cancelling/{length}", name) for length, name in lengths.items())


def _met(floats: list[InputSpec], met: Mapping[str, Sequence[str]]) -> Iterator[Plan]:
    """Sums with what is computed from others that come to little beside both, and products of nearly one value; and
    under no input's name what is found for all of them together."""
    yield from (Plan(family, spec.name) for spec in floats for family in met.get(spec.name, ()))
    yield from map(Plan, met.get("", ()))


def _marked(floats: list[InputSpec]) -> Iterator[Plan]:
    if any(spec.marks for spec in floats):
        yield from [Plan("marks"), Plan("about")] * MARKED
        yield from (Plan(f"between/{axis}") for axis in range(min(2, max(len(drawn_shape(spec)) for spec in floats))))


def _pillars(specification: Specification, floats: list[InputSpec]) -> Iterator[Plan]:
    """Columns whose places the reference names."""
    lengths = [length for spec in floats for length in drawn_shape(spec)]
    for spec in [spec for spec in floats if len(drawn_shape(spec)) > 1]:
        variants = pillars.variants(drawn_shape(spec)[-1], specification.numbers, lengths)
        yield from (Plan(f"pillars/{variant}", spec.name) for variant in variants)


def _clusters(floats: list[InputSpec]) -> Iterator[Plan]:
    """Columns and rows of each input that are points in clusters."""
    for spec in floats:
        yield from (Plan(f"clusters/{turn}", spec.name) for turn in clusters.turns(drawn_shape(spec)))


def _laid(floats: list[InputSpec], gathered: Mapping[str, Sequence[int]], large: bool) -> Iterator[Plan]:
    """Triangles, blocks and their like over two axes of all inputs at once."""
    for (one, other), turns in laid_pairs(floats, gathered, laid.TURNS).items():
        yield from (Plan(f"laid/axes:{one},{other}/{turn}") for turn in range(1 if large else turns))
    yield from (Plan(f"laid/{variant}") for variant in turning(floats, gathered, 1 if large else laid.FLAT))
    if any(len(drawn_shape(spec)) > 1 and min(drawn_shape(spec)[-2:]) > 1 for spec in floats):
        yield from (Plan(f"laid/{turn}") for turn in range(0, laid.TURNS, LAID_LARGE if large else 1))
        flat = max(laid.flat_turns(drawn_shape(spec)) for spec in floats)
        yield from (Plan(f"laid/flat/{turn}") for turn in range(min(flat, 1) if large else flat))


def _normed(floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """Each input alone, and all of them at once."""
    names = [spec.name for spec in floats] if len(floats) > 1 and not large else []
    square = any(normed.is_square(drawn_shape(spec)) for spec in floats)
    for turn in range(1 if large else normed.SQUARE if square else normed.TURNS):
        yield from (Plan(f"normed/{turn}", name) for name in (None, *names))


def _by_rows(
    family: str,
    turns_of: Callable[[int], int],
    floats: list[InputSpec],
    gathered: Mapping[str, Sequence[int]],
    large: bool,
) -> Iterator[Plan]:
    """All inputs at once, in as many cases as their rows take, and each alone where there are several."""
    groups = [throughout.groups(drawn_shape(spec), gathered.get(spec.name, ())) for spec in floats]
    names = [spec.name for spec in floats] if len(floats) > 1 and not large else []
    for turn in range(1 if large else turns_of(max(groups))) if groups else ():
        yield Plan(f"{family}/{turn}")
    yield from (Plan(f"{family}/0", name) for name in names)


def _silent(floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """All inputs at once, and each alone where there are several."""
    names = [spec.name for spec in floats] if len(floats) > 1 and not large else []
    yield from (Plan(f"silent/{turn}") for turn in range((1 if large else silences.CASES) if floats else 0))
    yield from (Plan("silent/0", name) for name in names)


def _of_one_kind(
    varied: list[InputSpec], floats: list[InputSpec], gathered: Mapping[str, Sequence[int]], of_one_number: bool
) -> Iterator[Plan]:
    """All inputs of nearly one value; where there are several also all of them far to one side or the other.

    Where each output is ``of_one_number`` step after step and exactly: in a contraction of exactly equal numbers all
    honest errors have one direction, and no mean of many elements tells them from a kernel's.
    """
    largest = max((prod(drawn_shape(spec)) for spec in floats), default=0)
    wide = [spec for spec in floats if drawn_shape(spec) and not depths.is_small(prod(drawn_shape(spec)), largest)]
    groups = [throughout.groups(drawn_shape(spec), gathered.get(spec.name, ())) for spec in wide]
    whole = sum(spec not in floats and is_many(spec) for spec in varied)
    ways = len(throughout.ONE_SIDE if of_one_number else throughout.STRENGTHS)
    if groups:
        kinds = throughout.STEADY if min(groups) == 1 else 2 if max(groups) < throughout.GROUPS or whole else 1
        kinds = max(kinds, BOUNDED if any(map(_is_bounded, wide)) else 1)
        yield from (Plan(f"steady/{turn}") for turn in range(kinds))
    elif whole:
        yield from (Plan("steady/1"), Plan("steady/2"))
    for spec in wide:
        if throughout.groups(drawn_shape(spec), gathered.get(spec.name, ())) == 1 < prod(drawn_shape(spec)):
            axes = len(drawn_shape(spec))
            plain = range(throughout.HALVED * min(2, axes))
            turns = [
                turn + throughout.HALVED * axes * way
                for way in range(ways)
                for turn in (plain if way < len(throughout.STRENGTHS) else range(throughout.PAIRED))
            ]
            yield from (Plan(f"halved/{turn}", spec.name) for turn in turns)
    several = len(floats) + whole
    if groups and several > 1:
        sides = 1 << min(several, throughout.SIDED)
        rounds = 1 + ways if max(groups) == 1 else 2  # one number shows one height at a time
        parts = range(0, rounds * throughout.SIDES, throughout.SIDES)
        all_turns = [part + turn for part in parts for turn in range(sides)]
        turns = [0] if min(groups) >= 2 * throughout.SIDES else all_turns
        yield from (Plan(f"sided/{turn}") for turn in turns)


def _is_bounded(spec: InputSpec) -> bool:
    return spec.domain == "unit" or None not in (spec.low, spec.high)


def _planes(floats: list[InputSpec], gathered: Mapping[str, Sequence[int]], large: bool) -> Iterator[Plan]:
    """What one output gathers over more than an input's last axis, which rows hold already."""
    for spec in floats:
        shape, axes = drawn_shape(spec), gathered.get(spec.name, ())
        if not axes or tuple(axes) == (len(shape) - 1,):
            continue
        few = len(axes) > 1 or planes.how_many(shape, axes) <= FEW_COLUMNS
        bent = planes.turns(shape, axes) if few else 0
        every = planes.tower_turns(shape, axes)
        towers = range(min(every, TOWERS // 2 if large else TOWERS))
        down = [] if large else [every + turn for turn in towers]
        yield from _throughout_axes(spec.name, axes, bent, [*towers, *down])
        if len(axes) == 1:
            turned = places.turns(planes.how_many(shape, axes), shape[axes[0]], PEAKS)
            yield from (Plan(f"peaks/turned/{turn}", spec.name) for turn in range(turned))
            if axes[0] == len(shape) - 2:
                yield from _through("patterns/turned", spec, spec.name)


def _between(floats: list[InputSpec], gathered: Mapping[str, Sequence[int]]) -> Iterator[Plan]:
    """Towers at more edges, of what one output gathers as a whole: each is in a case of its own."""
    for spec in floats:
        shape, axes = drawn_shape(spec), gathered.get(spec.name, ())
        if axes and tuple(axes) != (len(shape) - 1,) and planes.how_many(shape, axes) <= LONE_PLANES:
            turns = range(TOWERS + 1, min(planes.tower_turns(shape, axes), TOWERS + 2 * BETWEEN), 2)
            yield from _throughout_axes(spec.name, axes, 0, turns)


def _in_groups(
    family: str,
    turns_of: Callable[[int, int], int],
    floats: list[InputSpec],
    gathered: Mapping[str, Sequence[int]],
    large: bool,
) -> Iterator[Plan]:
    """As many cases of each input as it takes groups, of which one output gathers each, and their elements."""
    for spec in floats:
        shape = drawn_shape(spec)
        axes = gathered.get(spec.name) or range(len(shape))[-1:]
        length = prod(shape[axis] for axis in axes)
        turns = turns_of(prod(shape) // max(1, length), length)
        yield from (Plan(f"{family}/{turn}", spec.name) for turn in range(min(turns, 1) if large else turns))


def _throughout_axes(name: str, axes: Sequence[int], bent: int, towers: Sequence[int]) -> Iterator[Plan]:
    named = ",".join(map(str, axes))
    yield from (Plan(f"planes/{named}/{turn}", name) for turn in range(bent))
    yield from (Plan(f"narrow/{named}/{turn}", name) for turn in range(len(planes.NARROWS) if bent else 0))
    yield from (Plan(f"towers/{named}/{turn}", name) for turn in towers)


def _exact(specification: Specification, exact: dict[str, Any] | None) -> Iterator[Plan]:
    """20-bit integers against eight signs, both ways round: only float32 arithmetic brings them through. In order, they
    would stand elsewhere."""
    arguments = specification.reference_arguments("default").inputs
    if exact is None or specification.precision != "float32" or any(spec.order for spec in arguments):
        return
    yield Plan(f"exact20/{exact['right_axis']}", exact["left"])
    yield Plan(f"exact20/{exact['left_axis']}", exact["right"])


def _probes(floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """None of what is in an order, which one element that is changed would break."""
    for position, spec in enumerate(floats):
        if spec.order is not None:
            continue
        for turn in [position % PROBES] if large else range(PROBES):
            yield Plan(probe={"input": spec.name, "edge": turn % 2 == 0, "turn": turn})
