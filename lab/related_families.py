"""Families of what inputs are to each other: which pairs and peers of a problem get them, and how many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, zip_longest
from math import prod
from typing import Final, TypeAlias

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import circles, depths, pointing, relations
from nki_anvil.backends.worker import doubles as pairs_of_rows
from nki_anvil.backends.worker import grouped as groups
from nki_anvil.backends.worker import kindred as along
from nki_anvil.backends.worker import leading as leading_rows
from nki_anvil.backends.worker import masked as masking
from nki_anvil.backends.worker import outcast as far
from nki_anvil.backends.worker import sole as alone
from nki_anvil.backends.worker import terraces as steps
from nki_anvil.lab.planned_case import Plan, drawn_shape, is_many, range_of
from nki_anvil.lab.specification import Specification

Pair: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]

NEAR: Final = 4
"""Pairs of an input and another one that spreads over it, at most; half as many at large shapes."""
COMBINED: Final = 8
"""Pairs at most of inputs that are known to be added or multiplied."""
KINDRED: Final = 12
"""Cases at most of rows along another input's; half as many at large shapes."""
CROSSING: Final = 12
"""Cases at most of columns along another input's rows or columns; half as many at large shapes, and of terraces."""
OUTCAST: Final = 4
"""Inputs at most that have an outcast."""
MANY_ROWS: Final = 8
"""For each number of the outputs, so that all pairs of rows may come to it."""
DELAYED: Final = 4
"""Pairs at most of inputs of which one stands in the other's rows."""
SHORTEST: Final = 8
"""Elements of such rows at least."""
TERRACED: Final = 8
"""Cases at most of keys in terraces along queries."""
LONGEST_PLAIN: Final = 64
"""Elements that one output gathers from which on they are laid in terraces, of which few rows have several cases."""
GROUPED: Final = 4
"""Pairs at most of an input and of integers that it follows."""
LED: Final = 2
"""Pairs at most of an input and a table of which an integer names a row; at large shapes half as many cases of each."""
GATED: Final = 12
"""Cases at most of an input that is next to nothing beside a gate; half as many at large shapes."""
TWINS: Final = 3
"""Cases of inputs that are learnt pairs, all of them at once."""
SQUARE: Final = 8
"""Rows and columns from which on a matrix may be of all pairs."""
LABELLED: Final = 4
"""Pairs at most of floats that may be labels and of what they label."""
MASKING: Final = 2
"""Inputs of integers at most that may say what does not count."""
ATTENDED: Final = 8
"""Cases at most of values beside nothing whose keys' weights are small."""


def related(floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """What inputs of one shape are to each other, a batch's matrices, and several shapes along an axis they share."""
    shapes = _by_shape(floats)
    families = ("lone/0",) if large else ("lone/0", "lone/1", "alike")
    yield from (Plan(family, names[0]) for names in shapes.values() if len(names) > 1 for family in families)
    yield from (Plan("alike", names[0]) for shape, names in shapes.items() if len(shape) > 2 and len(names) == 1)
    for length in dict.fromkeys(n for shape in shapes for n in shape[-2:] if n > 1):
        sharing = [names[0] for shape, names in shapes.items() if length in shape[-2:]]
        if len(sharing) > 1:
            yield Plan(f"opposed/{length}", sharing[0])
            yield from (Plan(f"opposed/{length}/tiles", name) for name in (() if large else sharing[1:2]))
            yield Plan(f"opposed/{length}/single", sharing[0])
            together = [names[0] for shape, names in shapes.items() if length in shape[-2:] and len(names) > 1]
            yield from (Plan(f"opposed/{length}/peers", name) for name in together)


def circle(floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """Inputs of one shape that are each other's sines and cosines; at large shapes as a table has them."""
    shapes = _by_shape(floats)
    turns = range(1, 3) if large else range(circles.TURNS)
    pairs = [names for shape, names in shapes.items() if len(names) > 1 and shape]
    yield from (Plan(f"circle/{turn}", names[0]) for names in pairs for turn in turns)


def twins(floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """Several pairs of inputs of one shape at once: weights of a student and of its teacher, layer after layer.

    Of four of one shape both the first two are a pair and the first and the third.
    """
    halves: list[str] = []
    neighbours: list[str] = []
    for names in _by_shape(floats).values():
        half = len(names) // 2
        halves += map(":".join, zip(names[:half], names[half:], strict=False))
        neighbours += map(":".join, zip(names[::2], names[1::2], strict=False))
    for pairs in dict.fromkeys(",".join(of) for of in (halves, neighbours) if len(of) > 1):
        yield from (Plan(f"twins/{pairs}/{turn}") for turn in range(1 if large else TWINS))


def _by_shape(floats: list[InputSpec]) -> dict[tuple[int, ...], list[str]]:
    shapes: dict[tuple[int, ...], list[str]] = {}
    for spec in floats:
        shapes.setdefault(drawn_shape(spec), []).append(spec.name)
    return shapes


def kindred(specification: Specification, shapes: str, floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """Rows along another input's, of pairs that may be queries and keys, where matrices are multiplied."""
    if not ((work := specification.work.get(shapes)) and work.matmul_flops):
        return
    of = {spec.name: drawn_shape(spec) for spec in floats}
    pairs = [(one, two) for one in of for two in of if one != two and along.may_meet(of[one], of[two])]
    plans = [Plan(f"kindred/{two}/{turn}", one) for one, two in pairs for turn in along.turns(of[one], of[two])]
    yield from plans[: KINDRED // 2 if large else KINDRED]
    yield from crossing(of)[: CROSSING // 2 if large else CROSSING]


def crossing(of: Mapping[str, Sequence[int]]) -> list[Plan]:
    """Columns along another input's rows or columns, by the inputs' shapes: of each pair the first case before others
    have their second."""
    plans = [
        [Plan(f"kindred/{two}/{way}/{turn}", one) for turn in along.turns(*met)] for one, two, way, met in _crossing(of)
    ]
    return [plan for turn in zip_longest(*plans) for plan in turn if plan]


def _crossing(of: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, str, str, Pair]]:
    """Two inputs of which one has in columns, or both, what the other has in rows: first those that have so as well."""
    pairs = [(one, two) for one in of for two in of if one != two]
    for one, two in sorted(pairs, key=lambda pair: not along.may_meet(of[pair[0]], of[pair[1]])):
        for way in along.WAYS if len(of[one]) > 1 and len(of[two]) > 1 else ():
            met = along.transposed_shapes(of[one], of[two], way)
            if along.may_meet(*met):
                yield one, two, way, met


def near(floats: list[InputSpec], combined: Sequence[Mapping[str, str]], large: bool) -> Iterator[Plan]:
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


def throughout(
    floats: list[InputSpec], combined: Sequence[Mapping[str, str]], gathered: Mapping[str, Sequence[int]]
) -> Iterator[Plan]:
    """All rows of an input alike in what they are to another, where outputs gather more of it than a row."""
    wide = {s.name for s in floats if tuple(gathered.get(s.name, ())) not in ((), (len(drawn_shape(s)) - 1,))}
    for names in _by_shape(floats).values():
        if len(names) > 1 and wide & {*names}:
            yield from (Plan(f"alike/{relations.THROUGH}/{turn}", names[0]) for turn in range(len(relations.PAIRS)))
    for plan in near(floats, combined, large=True):
        if plan.only in wide:
            family, _, other = plan.family.partition("/")
            yield Plan(f"{family}/{relations.THROUGH}/{other}", plan.only)


def delayed(floats: list[InputSpec]) -> Iterator[Plan]:
    """Inputs whose rows another one's stand in somewhere: echoes, templates, frames that moved."""
    shapes = {spec.name: drawn_shape(spec) for spec in floats if len(drawn_shape(spec)) > 1}
    pairs = [
        (name, other)
        for (name, shape), (other, second) in permutations(shapes.items(), 2)
        if prod(shape[:-1]) == prod(second[:-1]) and min(shape[-1], second[-1]) >= SHORTEST
    ]
    yield from (Plan(f"delayed/{other}/{turn}", name) for name, other in pairs[:DELAYED] for turn in range(2))


def _in_rounds(floats: list[InputSpec]) -> Iterator[Plan]:
    shapes = {spec.name: drawn_shape(spec) for spec in floats}
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


def faint(specification: Specification, floats: list[InputSpec]) -> Iterator[Plan]:
    """All inputs faint at once, in the rows of an output, if it is plain which inputs have those: else as a whole.

    Told by the shapes of the default set, for which outputs are known. It is plain where all others are weights, whose
    rows are contracted with another input's, or vectors.
    """
    if len(floats) < 2:
        return
    names = {spec.name for spec in floats}
    shapes = {s.name: drawn_shape(s) for s in specification.reference_arguments("default").inputs if s.name in names}
    rows = {output.shape[:-1] for output in specification.outputs.get("default", ()) if len(output.shape) > 1}
    first = next((name for name, shape in shapes.items() if shape[:-1] in rows), None)
    others = [shape for shape in shapes.values() if prod(shape[:-1]) > 1 and shape[:-1] not in rows]
    contracted = all(any(shape[-2] == other[-1:][0] for other in shapes.values() if other) for shape in others)
    yield Plan("faint", first) if first and contracted else Plan("faint/whole")
    yield from (Plan("nothing/0"), Plan("nothing/1"))


def doubles(inputs: list[InputSpec], outputs: int) -> Iterator[Plan]:
    """Two rows of an input that are alike, or opposites, in each block of pairs of rows where many rows come to one
    number: ``outputs`` is how many numbers there are. Of a minimum over pairs nobody can tell what it gathers."""
    for spec in inputs:
        shape = drawn_shape(spec)
        if len(shape) > 1 and MANY_ROWS * outputs <= prod(shape[:-1]):
            family = "doubles" if "float" in spec.dtype else "whole/doubles"
            yield from (Plan(f"{family}/{turn}", spec.name) for turn in range(pairs_of_rows.turns(shape)))


def outcast(floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """Rows, or columns, of one input that are nearly alike, but for one; and of all that have the first one's shape."""
    compared = [spec for spec in floats if far.is_meant(drawn_shape(spec))]
    turns = range(1 if large else far.TURNS)
    for spec in compared[:OUTCAST]:
        yield from (Plan(f"outcast/{turn}", spec.name) for turn in turns)
    for spec in compared:
        if spec is not floats[0] and drawn_shape(spec) == drawn_shape(floats[0]):
            yield from (Plan(f"outcast/together/{turn}") for turn in turns)
            return


def sole(specification: Specification, shapes: str, floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """One input is large in few places and nothing elsewhere; vectors only in single elements."""
    for spec in floats:
        turns = range(1 if large else alone.TURNS) if len(drawn_shape(spec)) > 1 else range(1, 1 if large else 2)
        yield from (Plan(f"sole/{turn}", spec.name) for turn in turns)
    work = specification.work.get(shapes)
    if work and work.matmul_flops and not large:
        yield from [*_attended(floats)][:ATTENDED]


def terraces(
    specification: Specification,
    shapes: str,
    floats: list[InputSpec],
    gathered: Mapping[str, Sequence[int]],
    large: bool,
) -> Iterator[Plan]:
    """What one output gathers lies in terraces, and so do keys along queries where matrices are multiplied."""
    of = {spec.name: drawn_shape(spec) for spec in floats}
    largest = max(map(prod, of.values()), default=0)
    for name, shape in of.items():
        axes = gathered.get(name) or (len(shape) - 1,)
        length = prod(shape[axis] for axis in axes) if shape else 0
        if length >= LONGEST_PLAIN and not depths.is_small(prod(shape), largest):
            turns = 1 if large else steps.plain(prod(shape) // length) + 1
            yield from (Plan(f"terraces/{turn}", name) for turn in range(turns))
    work = specification.work.get(shapes)
    if work and work.matmul_flops and not large:
        pairs = [(one, two) for one in of for two in of if one != two and along.may_meet(of[one], of[two])]
        plans = [Plan(f"terraces/{two}/{turn}", one) for turn in range(TERRACED) for one, two in pairs]
        yield from plans[:TERRACED]
        turned = [Plan(f"terraces/{two}/{way}/0", one) for one, two, way, _ in _crossing(of)]
        yield from turned[: CROSSING // 2]


def _attended(floats: list[InputSpec]) -> Iterator[Plan]:
    """Values are so in a half of their rows, while keys of the other half lie along queries."""
    of = {spec.name: drawn_shape(spec) for spec in floats}
    for values, keys in ((one, two) for two in of for one in of if one != two and of[one][:-1] == of[two][:-1]):
        queries = next((one for one in of if one not in (values, keys) and along.may_meet(of[keys], of[one])), None)
        if queries:
            yield from (Plan(f"sole/{keys}/{queries}/{turn}", values) for turn in range(2 * alone.HALVES))


def named(varied: list[InputSpec], floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """Rows whose elements an integer for each of them names, as a label does, or the row itself, as where all pairs are
    compared; elements of which each has a side.

    Floats that may be such labels are, in pairs with what has their shape.
    """
    labels = [(label, spec) for label in floats if _may_be_labels(label) for spec in floats if spec is not label]
    pairs = [(label.name, spec.name) for label, spec in labels if drawn_shape(spec) == drawn_shape(label) != ()]
    turns = range(pointing.SURE if large else 2 * pointing.SURE)
    yield from (Plan(f"named/{label}/{turn}", name) for label, name in pairs[:LABELLED] for turn in turns)
    whole = [spec for spec in varied if spec not in floats and is_many(spec)]
    for label, spec in ((label, spec) for label in whole for spec in floats):
        span, shape = int(label.high or 0) - int(label.low or 0), drawn_shape(spec)
        if (later := _names(label, spec)) is not None and 0 < span <= shape[-1]:
            turns = range(pointing.KINDS if large and not later else 2 * pointing.KINDS)
            yield from (Plan(f"named/{label.name}/{turn}", spec.name) for turn in turns)
        elif shape == drawn_shape(label) and span == 1:
            yield from (Plan(f"named/{label.name}/{turn}", spec.name) for turn in range(len(pointing.AGREED)))
    square = [spec for spec in floats if len(shape := drawn_shape(spec)) > 1 and shape[-1] == shape[-2] >= SQUARE]
    turns = range(pointing.KINDS if large else pointing.KINDS + 1)
    yield from (Plan(f"named//{turn}", spec.name) for spec in square[:LABELLED] for turn in turns)


def leading(
    specification: Specification, shapes: str, varied: list[InputSpec], floats: list[InputSpec], large: bool
) -> Iterator[Plan]:
    """Rows whose product with what an integer for each of them names of a table leads by a little.

    The integers name as many rows of the table, or columns, as it has, or fewer; where there are none such, at small
    shapes a lot names them.
    """
    if not ((work := specification.work.get(shapes)) and work.matmul_flops):
        return
    whole = [spec for spec in varied if spec not in floats and is_many(spec) and spec.low is not None]
    tables = [spec for spec in floats if len(drawn_shape(spec)) == 2]
    multiplied = [
        (spec, table, way)
        for spec in floats
        for table in tables
        if spec is not table
        for way in ("", "theirs")
        if _are_multiplied(spec, table, way)
    ]
    named = [(label.name, *pair) for label in whole for pair in multiplied if _names_rows(label, *pair)]
    met = named or ([] if large else [("", *pair) for pair in multiplied])
    turns = range(leading_rows.LEADS) if named and not large else range(1, leading_rows.LEADS, 2)
    yield from (
        Plan(f"leading/{label}/{table.name}/{way}/{turn}", spec.name)
        for label, spec, table, way in met[:LED]
        for turn in turns
    )


def _names_rows(label: InputSpec, spec: InputSpec, table: InputSpec, way: str) -> bool:
    """Whether there is an integer for each row of an input that may name a table's row, or column."""
    named = int(label.high or 0) - int(label.low or 0) + 1
    return _names(label, spec) is False and 2 <= named <= drawn_shape(table)[1 if way else 0]


def _are_multiplied(spec: InputSpec, table: InputSpec, way: str) -> bool:
    """Whether rows of an input may be multiplied with a table's rows, or columns."""
    classes, width = drawn_shape(table)[:: -1 if way else 1]
    return len(drawn_shape(spec)) > 1 and width == drawn_shape(spec)[-1] >= along.LEAST and classes > 1


def grouped(varied: list[InputSpec], floats: list[InputSpec]) -> Iterator[Plan]:
    """Floats that follow an integer of each place, or row."""
    whole = [spec for spec in varied if spec not in floats and is_many(spec)]
    pairs = [
        (label, spec)
        for label in whole
        for spec in floats
        if spec.domain == "real" and groups.goes_along(drawn_shape(label), drawn_shape(spec))
    ]
    yield from (Plan(f"grouped/{label.name}/{turn}", spec.name) for label, spec in pairs[:GROUPED] for turn in range(2))


def masked(varied: list[InputSpec], floats: list[InputSpec]) -> Iterator[Plan]:
    """Floats that are nothing, or far from zero, where an integer says that they count not, and where it does."""
    whole = [spec for spec in varied if spec not in floats and not spec.order]
    for spec in whole[:MASKING]:
        shape, within = drawn_shape(spec), range_of(spec)
        turns = {turn for over in floats for turn in masking.turns(shape, within, drawn_shape(over))}
        yield from (Plan(f"masked/{spec.name}/{turn}") for turn in sorted(turns))


def _names(label: InputSpec, spec: InputSpec) -> bool | None:
    """Whether integers are one more or fewer than rows of a sequence, and may name the next; None: they name none."""
    shape, places = drawn_shape(spec), prod(drawn_shape(label))
    if len(shape) < 2:
        return None
    sequences, rows = prod(shape[:-2]), shape[-2]
    if places % sequences or abs(apart := places // sequences - rows) > 1:
        return None
    return apart != 0


def gated(floats: list[InputSpec], large: bool) -> Iterator[Plan]:
    """One input next to nothing while another is far to a side, as where a gate lets only the first one through.

    First those of one shape, or of which one spreads over the other.
    """
    of = {spec.name: drawn_shape(spec) for spec in floats}
    pairs = [(one, gate) for one in of for gate in of if one != gate]
    pairs.sort(key=lambda pair: not _meet(of[pair[0]], of[pair[1]]))
    turns = (relations.EITHER,) if large else range(relations.EITHER)
    plans = [Plan(f"gated/{gate}/{turn}", one) for one, gate in pairs for turn in turns]
    yield from plans[: GATED // 2 if large else GATED]


def _meet(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one == other or relations.spreads(one, other) or relations.spreads(other, one)


def _may_be_labels(spec: InputSpec) -> bool:
    """Whether floats are zeros and ones in the problem's own draws, or may lie from one of them to the other."""
    return spec.zero_or_one or spec.domain == "unit" or (spec.low, spec.high) == (0, 1)
