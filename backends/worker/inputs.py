"""The values of a case: drawn from seed and family alone, so that server and executor hold the same bits unsent.

It knows argument specifications as the plain dictionaries of ``job.json``, and no kernels, references or limits.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from nki_anvil.backends.worker import (
    arranged,
    bending,
    circles,
    clusters,
    companions,
    deciding,
    depths,
    doubles,
    folded,
    foremost,
    grouped,
    heavy,
    kindred,
    laid,
    leading,
    led,
    linked,
    masked,
    medley,
    normed,
    outcast,
    pillars,
    planes,
    pointing,
    regimes,
    relations,
    silences,
    slopes,
    sole,
    spliced,
    terraces,
    throughout,
    tracks,
    tuples,
    waves,
    whole_numbers,
)
from nki_anvil.backends.worker.arguments import (
    ABOVE,
    Array,
    Spec,
    drawn_shape,
    dtype_of,
    generator,
    in_order,
    inside,
    is_float,
    is_whole,
    own_draw,
    whole_range,
)
from nki_anvil.backends.worker.bending import Draw, turn_of

Case = dict[str, Any]
FEW = 4
"""Integers that are so few, a length or a position, are at edges in many a case of floats: none holds several."""
TILED = 0.5
"""How often opposed tiles are that, and not halves."""
STEADY = 0.1
"""How often an input of a medley is of nearly one value throughout."""


def draw(shape_set: dict[str, Any], case: Case) -> dict[str, Array]:
    """The arrays of one case by argument name, in the arguments' order; Python scalars are not among them.

    ``shape_set`` and ``case`` are a ShapeSet and a Case as dictionaries. Raises ValueError for an unknown family.
    """
    arrays: dict[str, Array] = {}
    target = _target(shape_set, case)
    for position, spec in enumerate(shape_set["inputs"]):
        if spec.get("shape") is not None:
            values = in_order(spec, _one(spec, position, case, target, shape_set["inputs"]))
            arrays[spec["name"]] = values.reshape(spec["shape"]).astype(dtype_of(spec["dtype"]))
    for probe in case.get("probes") or ():
        arrays[probe["input"]].reshape(-1)[probe["index"]] = probe["value"]
    return arrays


def digest(arrays: dict[str, Array]) -> str:
    """SHA-256 over names, dtypes, shapes and bytes, in order."""
    sha = hashlib.sha256()
    for name, array in arrays.items():
        sha.update(f"{name}:{array.dtype.name}:{list(array.shape)};".encode())
        sha.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return sha.hexdigest()


def family_names() -> list[str]:
    """Every family that ``draw`` knows, in the order of the specification."""
    return list(_FAMILIES)


def is_rough(family: str) -> bool:
    """Whether all rows of a family's cases may be those in which honest runs are off by a little."""
    name, _, turn = family.partition("/")
    return name == ROUGH or (name == "steady" and turn_of(turn) >= throughout.LOW)


def is_met(family: str) -> bool:
    """Whether only the reference's process can draw it."""
    return family.partition("/")[0] in MET


def _target(shape_set: dict[str, Any], case: Case) -> Spec:
    """The input that a family which tells the inputs apart transforms differently."""
    floats = [s for s in shape_set["inputs"] if s.get("shape") is not None and is_float(s)]
    named = [s for s in shape_set["inputs"] if s["name"] == case.get("only")]
    return next(iter(named or floats), {"name": "", "shape": None})


def _one(spec: Spec, position: int, case: Case, target: Spec, every: list[Spec]) -> Array:
    family, _, variant = str(case.get("family", "own")).partition("/")
    if family not in _FAMILIES:
        raise ValueError(f"There is no family {family!r}; known: {', '.join(_FAMILIES)}.")
    shape = drawn_shape(spec)
    own = own_draw(spec, shape, generator(int(case["seed"]), position))
    if spec.get("domain") == "constant" or family == "own":
        return own
    word = zlib.crc32(family.encode())
    rng = generator(int(case["seed"]), position, word)
    axes = _gathered(case, spec)
    beside = _beside_others(spec, own, axes, rng, case, every)
    if beside is not None:
        return beside
    paired = family in _PAIRED
    if not paired and case.get("only") not in (None, spec["name"]):
        return _beside_towers(spec, own, variant) if family == "towers" else own
    if is_whole(spec) and family in _WHOLE:
        return _whole(spec, own, axes, rng, variant, int(case["seed"]), every)
    if not is_float(spec):
        return _tied_integers(spec, own) if family == "ties" else own
    like = shape == drawn_shape(target)
    is_target = spec["name"] == target["name"]
    draw = Draw(spec, own, rng, variant, float(case.get("scale", 1.0)), is_target, like)
    draw.position = position
    draw.largest = max(prod(drawn_shape(other)) for other in every if other.get("shape") is not None)
    draw.axes = axes
    lone = sum(bool(other.get("shape")) for other in every) == 1
    draw.reach = regimes.LONE if lone else regimes.AMONG if case.get("only") else 0.0
    if family in _BESIDE:
        draw.first = lambda: _BESIDE[family](spec, variant or spec["name"], int(case["seed"]), every)
    if family in _RELATED:
        draw.shared = generator(int(case["seed"]), word)
        draw.peers = [n for n, s in enumerate(every) if s.get("shape") is not None and _peers(s, target)]
        draw.place = draw.peers.index(position) if position in draw.peers else None
        draw.first = lambda: own_draw(every[draw.peers[0]], shape, generator(int(case["seed"]), draw.peers[0]))
    if family == "faint":
        draw.shared_rows = None if variant == "whole" else drawn_shape(target)[:-1]
    return inside(spec, _FAMILIES[family](draw))


def _beside_others(
    spec: Spec, own: Array, axes: Sequence[int], rng: Any, case: Case, every: list[Spec]
) -> Array | None:
    """What an input is beside the one that a family is of; None where it is as it was drawn, or the family's too."""
    family, _, variant = str(case.get("family", "own")).partition("/")
    if family == "whole":
        if case.get("only") == spec["name"]:
            return None
        if variant.partition("/")[0] == "led":
            return _beside_led(spec, own, case, every)
        return _kept(spec, own, rng, variant)
    if family == "masked" and is_whole(spec):
        is_named = variant.partition("/")[0] == spec["name"]
        return _masking(spec, variant, int(case["seed"]), every) if is_named else own
    return _companion(spec, own, axes, rng, family, variant, every) if is_whole(spec) else None


def _gathered(case: Case, spec: Spec) -> Sequence[int]:
    known: dict[str, Sequence[int]] = case.get("gathered") or {}
    return known.get(spec["name"], ())


def _masking(spec: Spec, variant: str, seed: int, every: list[Spec]) -> Array:
    """What the integers hold that the variant names first, which say where floats do not count."""
    name, _, turn = variant.partition("/")
    within, rng = _range_of(name, every), generator(seed, JOINED)
    return masked.integers(_other(name, seed, every), rng, within, turn_of(turn))


def _masked(d: Draw) -> Array:
    """The variant names integers, and the case's number."""
    beside, within = d.first()
    return masked.floats(d.own, beside, d.rng, within, d.scale, turn_of(d.variant.partition("/")[2]))


def _met(spec: Spec, variant: str, seed: int, every: list[Spec]) -> Array:
    """The own draw of the input that a variant names first; with its factor, if one is named: ``z:<factor>:<input>:2``
    or ``z:2``."""
    numbers = {s["name"]: number for number, s in enumerate(every)}

    def own(name: str) -> Array:
        return own_draw(every[numbers[name]], drawn_shape(every[numbers[name]]), generator(seed, numbers[name]))

    name, *factor = variant.removeprefix(f"{relations.THROUGH}/").split(":")
    if not factor:
        return own(name)
    over = relations.laid_over(own(name), drawn_shape(spec)) * float(factor[-1])
    if len(factor) == 1:
        return over
    with np.errstate(all="ignore"):
        made = relations.FACTORS[factor[0]](relations.laid_over(own(factor[1]), drawn_shape(spec)))
    return over * np.where(np.isfinite(made), made, 1)


def _peers(spec: Spec, target: Spec) -> bool:
    return is_float(spec) and spec.get("domain") != "constant" and drawn_shape(spec) == drawn_shape(target)


def _bands(d: Draw, of: Sequence[regimes.Regime] = regimes.REGIMES) -> Array:
    """Bands of rows, or of columns (``turned``), of as many regimes."""
    turned, turn = d.variant.startswith("turned"), turn_of(d.variant.removeprefix("turned/"))
    return regimes.bands(d.own, d.rng, d.scale, d.sigma, turned, of=of, turn=turn, reach=d.reach)


def _planes(d: Draw) -> Array:
    """The variant names axes, joined by commas, and the case's number."""
    axes, turn = _axes_and_turn(d.variant)
    return planes.bent(d.own, axes, d.rng, d.scale, d.sigma, turn, d.reach)


def _narrow(d: Draw) -> Array:
    axes, turn = _axes_and_turn(d.variant)
    return planes.narrow(d.own, axes, d.rng, d.scale, d.sigma, turn)


def _towers(d: Draw) -> Array:
    axes, turn = _axes_and_turn(d.variant)
    return planes.towers(d.own, axes, d.rng, d.scale * d.sigma, turn)


def _beside_towers(spec: Spec, own: Array, variant: str) -> Array:
    """In two cases of three at the ends other inputs are positive, for products with towers to be towers as well."""
    _, turn = _axes_and_turn(variant)
    return inside(spec, np.abs(own)) if is_float(spec) and turn % 6 in (0, 4) else own


def _axes_and_turn(variant: str) -> tuple[list[int], int]:
    axes, _, turn = variant.partition("/")
    return [int(axis) for axis in axes.split(",") if axis] or [0], turn_of(turn)


def _sunken(d: Draw) -> Array:
    """All inputs far below zero, or, of ``products``, the large ones so that their products are; of ``silent:`` the one
    that is named, beside others of which stretches are nothing."""
    how, _, turn = d.variant.partition("/")
    if how.startswith(SILENT):
        if how == SILENT + d.spec["name"]:
            return depths.sunken(d.own, depths.BESIDE_SILENCE[turn_of(turn) % len(depths.BESIDE_SILENCE)])
        return _by_groups(d, lambda rows: silences.of_rows(rows, d.rng, 0.0))
    if how == "products" and not depths.is_small(d.own.size, d.largest):
        return depths.factor(d.own, turn_of(turn), d.is_target)
    return depths.sunken(d.own, turn_of(turn))


def _opposed(d: Draw) -> Array:
    """The variant is an axis' length, and whether single places are opposed, tiles may be in place of halves, or the
    target takes its peers along."""
    length, _, how = d.variant.partition("/")
    along = int(length or d.own.shape[-1])
    if how == "peers":
        together, half = d.is_target or d.place is not None, relations.half(along)
        return relations.opposed(d.own, along, d.scale, together, d.shared, half, relations.FARTHEST)
    tiled = how == "tiles" and along > 2 * regimes.TILE[0] and d.shared.random() < TILED
    run = 1 if how == "single" else regimes.TILE[0] if tiled else relations.half(along)
    return relations.opposed(d.own, along, d.scale, d.is_target, d.shared, run)


def _related(d: Draw, how: Callable[[relations.Peer], Array]) -> Array:
    if d.place is None:
        return d.own
    turn = int(d.variant.rpartition("/")[2] or 0)
    return how(relations.Peer(d.own, d.place, len(d.peers), turn, d.rng, d.shared))


def _alike(d: Draw, peer: relations.Peer) -> Array:
    return (relations.paired if _is_throughout(d) else relations.alike)(peer, d.first())


def _twins(d: Draw) -> Array:
    """The second of each pair is nearly the first; what has no twin stays as it was drawn."""
    twin = d.first()
    return d.own if twin is None else relations.twin(twin, d.rng)


def _first_twin(spec: Spec, variant: str, seed: int, every: list[Spec]) -> Array | None:
    """What the second one of a pair is nearly; ``variant`` is ``one:other,one:other/turn``."""
    twins = (pair.partition(":") for pair in variant.partition("/")[0].split(","))
    one = {second: first for first, _, second in twins if second}.get(spec["name"])
    return None if one is None else _other(one, seed, every)


def _is_throughout(d: Draw) -> bool:
    return d.variant.startswith(f"{relations.THROUGH}/")


def _tied_integers(spec: Spec, own: Array) -> Array:
    """Integers with the smallest and the largest at the ends and many ties between."""
    low, high = whole_range(spec)[:2]
    values = np.where(own > (low + high) // 2, high, low)
    flat = values.reshape(-1)
    if flat.size:
        flat[0], flat[-1] = low, high
    return values


def _whole(spec: Spec, own: Array, axes: Sequence[int], rng: Any, variant: str, seed: int, every: list[Spec]) -> Array:
    """Bands of integers, of rows or of columns (``turned``); the variant ends in the case's number."""
    turned = variant.startswith("turned")
    within = whole_range(spec)
    kind, _, number = variant.partition("/")
    if kind in _IN_TURN:
        return inside(spec, _IN_TURN[kind](own, rng, within, turn_of(number)))
    if kind in ("laid", "flat", "folded") or kind.startswith((TURNING, SLOPING)):
        return _as_planes(own, rng, within, kind, number)
    if variant.startswith("beside:"):
        return _beside(spec, own, variant, seed, every)
    if variant.startswith("throughout/") and axes:
        return whole_numbers.throughout(own, axes, rng, within, turn_of(variant.removeprefix("throughout/")))
    related, _, name = variant.partition(":")
    if related in _RELATIONS:
        return _RELATIONS[related](own, _other(name, seed, every), rng, within)
    if variant.startswith("joined:"):
        return _joined(spec, own, variant, seed, every)
    if variant.startswith(("corners:", "apart:")):
        return _linked(spec, own, variant, seed, every)
    if variant.startswith("level:"):
        over = relations.laid_over(_other(variant.removeprefix("level:"), seed, every), own.shape)
        return whole_numbers.level(own, over, rng, within)
    if variant.startswith("ends"):
        first = next(other["name"] for other in every if is_whole(other))
        lowest = variant == "ends/1" and spec["name"] == first
        return np.full_like(own, within.low if lowest else within.high)
    return whole_numbers.bands(own, rng, within, turned, turn_of(variant.removeprefix("turned/")))


def _as_planes(own: Array, rng: Any, within: whole_numbers.Range, kind: str, number: str) -> Array:
    """Matrices, also over other axes, which stand before the number, or rows that are planes, nearly square or not, or
    boxes."""

    def bent(own: Array, turn: int) -> Array:
        return laid.of_integers(own, rng, within, turn)

    if kind.startswith(SLOPING):
        return slopes.of_integers(own, rng, (within.low, within.high), turn_of(number), kind == FLAT)
    if kind.startswith(TURNING):
        return _turning_integers(own, rng, within, f"{kind}/{number}")
    if number.startswith("axes:"):
        return laid.over(own, *_axes_and_turn(number.removeprefix("axes:")), laid.QUARTERED, bent)
    if kind == "folded":
        return folded.of_rows(own, rng, within.low, within.high, turn_of(number))
    return bent(laid.unfolded(own) if kind == "flat" else own, turn_of(number)).reshape(own.shape)


def _turning_integers(own: Array, rng: Any, within: whole_numbers.Range, variant: str) -> Array:
    axes, turn = _axes_and_turn(variant.removeprefix(TURNING))
    return laid.over(own, axes, turn, 0, lambda moved, _: laid.turning_integers(moved, rng, within))


_IN_TURN = {
    "tiles": whole_numbers.tiles,
    "few": whole_numbers.few,
    "edges": whole_numbers.edges,
    "again": whole_numbers.again,
    "arranged": whole_numbers.arranged,
    "multiples": whole_numbers.multiples,
    "interrupted": whole_numbers.interrupted,
    "series": whole_numbers.as_series,
    "waves": whole_numbers.as_waves,
    "silent": whole_numbers.silent,
    "echoed": whole_numbers.echoed,
    "mirrored": whole_numbers.as_mirrored,
    "lines": whole_numbers.lines,
    "cells": linked.cells,
    "apart": linked.apart_along,
    "track": tracks.along,
    "favoured": deciding.favoured,
    "lone": deciding.lone,
    "doubles": doubles.of_integers,
    "packed": tracks.packed,
    "pointers": linked.pointers,
    "led": led.places,
    "slots": linked.slots,
}
_RELATIONS: dict[str, Callable[[Array, Array, Any, whole_numbers.Range], Array]] = {
    "nearly": whole_numbers.nearly,
    "shifted": whole_numbers.shifted,
    "summed": whole_numbers.summed,
    "contrary": deciding.contrary,
    "spliced": lambda own, other, rng, within: spliced.spliced(own, other, rng).clip(within.low, within.high),
}


def _joined(spec: Spec, own: Array, variant: str, seed: int, every: list[Spec]) -> Array:
    """The variant names both integers; others stay as they were drawn."""
    _, first, second = variant.split(":")
    if spec["name"] not in (first, second):
        return own
    alike = _range_of(first, every)
    return inside(spec, whole_numbers.joined(own, generator(seed, JOINED), alike, spec["name"] == first))


def _linked(spec: Spec, own: Array, variant: str, seed: int, every: list[Spec]) -> Array:
    """The variant names the inputs that hold edges' ends, or cells' corners, and the case's number."""
    kind, _, number = variant.partition("/")
    names = kind.split(":")[1:]
    if spec["name"] not in names:
        return own
    rng, ranges = generator(seed, JOINED), [_range_of(name, every) for name in names]
    if kind.startswith("apart:"):
        corners = linked.apart(own.shape, rng, ranges)
    else:
        corners = linked.corners(own.shape, len(names), rng, ranges[0], turn_of(number))
    return inside(spec, corners[names.index(spec["name"])])


def _kept(spec: Spec, own: Array, rng: Any, variant: str) -> Array | None:
    """Beside a graph: what says which of its edges there are; None where that is no input's matter."""
    kind, _, number = variant.partition("/")
    if kind.partition(":")[0] not in GRAPHS or spec["name"] in kind.split(":")[1:]:
        return None
    within = _keeping(spec, own)
    return None if within is None else inside(spec, linked.kept(own, rng, within, turn_of(number)))


def _keeping(spec: Spec, own: Array) -> whole_numbers.Range | None:
    """What an input holds that may say which places count: few numbers, or one alone; None of any other."""
    within = whole_range(spec) if is_whole(spec) else MASK if np.isin(own, (0, 1)).all() else None
    return within if within is not None and linked.is_keeping(within, own.size) else None


def _beside_led(spec: Spec, own: Array, case: Case, every: list[Spec]) -> Array | None:
    """Beside places that lead to those before them: numbers that agree, and masks; None where it is neither."""
    shared, names = generator(int(case["seed"]), JOINED), [other["name"] for other in _led_along(every, case["only"])]
    if spec["name"] in names:
        ranges = [_range_of(name, every) for name in names]
        return inside(spec, led.agreeing(own, shared, whole_range(spec), ranges, names.index(spec["name"])))
    within = _keeping(spec, own) if own.size > 1 else None
    return None if within is None else inside(spec, led.keeping(own, shared, within))


def _led_along(every: list[Spec], places: str | None) -> list[Spec]:
    """The integers of many numbers that have the shape of an input, without it."""
    shape = next(drawn_shape(spec) for spec in every if spec["name"] == places)
    alike = [s for s in every if s["name"] != places and s.get("shape") is not None and drawn_shape(s) == shape]
    return [s for s in alike if is_whole(s) and not linked.is_keeping(whole_range(s), prod(shape))]


def _range_of(name: str, every: list[Spec]) -> whole_numbers.Range:
    return whole_range(next(other for other in every if other["name"] == name))


def _beside(spec: Spec, own: Array, variant: str, seed: int, every: list[Spec]) -> Array:
    """The variant names the other integer, and the case's number."""
    _, name, turn = variant.split(":")
    return inside(spec, whole_numbers.beside(own, _other(name, seed, every), whole_range(spec), int(turn)))


def _other(name: str, seed: int, every: list[Spec]) -> Array:
    """The own draw of another input."""
    place = next(number for number, other in enumerate(every) if other["name"] == name)
    return own_draw(every[place], drawn_shape(every[place]), generator(seed, place))


def _companion(
    spec: Spec, own: Array, axes: Sequence[int], rng: Any, family: str, variant: str, every: list[Spec]
) -> Array | None:
    """Integers beside floats that are bent; None where they are as they were drawn, or what they are is the family's.

    Beside towers at the ends of axes all are the largest: a prefix has its full length, while rows of indices begin
    with the first and end with the last.
    """
    if family == "medley":
        return medley.of_integers(own, axes, rng, whole_range(spec))
    if family == "laid" and laid.is_stepping(turn_of(variant)) and companions.are_labels(own):
        return np.full_like(own, own.flat[0])
    alone = own.size <= FEW or companions.is_alone(own, axes)
    if family in _WHOLE or (family not in _MINGLED and (alone or family in _PLAIN)):
        few = family not in _WHOLE and own.size <= FEW and rng.random() < 0.5
        return whole_numbers.mingled(own, rng, whole_range(spec)) if few else None
    within, turn = whole_range(spec), turn_of(variant)
    if family == "towers" and _axes_and_turn(variant)[1] % 2 == 0:
        return whole_numbers.framed(own, within) if within.high - within.low > 2 else np.full_like(own, within.high)
    if alone or (family in _MINGLED and family != "signs" and rng.random() < 0.25):
        return whole_numbers.mingled(own, rng, within)
    if family == "laid" and variant.startswith(TURNING):
        return _turning_integers(own, rng, within, variant)
    if family == "laid" and variant.startswith("axes:"):
        return _as_planes(own, rng, within, "laid", variant)
    if family == "sunken" and variant.startswith(SILENT):
        return whole_numbers.silent(own, rng, within, turn)
    place = [other["name"] for other in every if family == "sided" or is_whole(other)].index(spec["name"])
    return companions.of(family, own, axes, rng, within, turn, place)


def _sole(d: Draw) -> Array:
    """The variant is the case's number; or names keys and queries, and a half of the keys."""
    keys, _, rest = d.variant.partition("/")
    if not rest:
        return sole.sole(d.own, d.rng, d.scale, d.is_target, turn_of(d.variant))
    half = turn_of(rest.rpartition("/")[2]) % sole.HALVES
    if d.is_target:
        return sole.of_a_half(d.own, d.rng, d.scale, half)
    return sole.along_in_a_half(d.own, d.first(), d.rng, d.scale, half) if d.spec["name"] == keys else d.own


def _named(d: Draw) -> Array:
    """The variant names what names, integers or labels that are floats, and the case's number; nobody: the row does."""
    name, _, number = d.variant.partition("/")
    turn = turn_of(number)
    if not name:
        return pointing.diagonal(d.own, d.rng, turn) if d.is_target else d.own
    if not d.is_target:
        return d.first() if d.spec["name"] == name else d.own
    places = d.first()
    if places.dtype.kind == "f":
        return pointing.certain(d.own, places, d.rng, turn)
    return pointing.named(d.own, places, d.rng, turn)


def _labels(spec: Spec, variant: str, seed: int, every: list[Spec]) -> Array:
    """What the variant's first name holds: integers as they name columns, floats of the kind that its number says."""
    name, _, number = variant.partition("/")
    places = _other(name, seed, every)
    if places.dtype.kind == "f":
        return pointing.labels(places, turn_of(number))
    within = _range_of(name, every)
    return places - max(0, within.high + 1 - drawn_shape(spec)[-1])


def _leading(d: Draw) -> Array:
    """The variant names what names, the table, how it is turned, and the case's number."""
    _, table, way, turn = d.variant.split("/")
    if d.is_target:
        named, rows = d.first()
        rows = leading.of_one_length(kindred.transposed(rows, way, other=True))
        return leading.leading(d.own, named, rows, d.rng, turn_of(turn))
    if d.spec["name"] != table:
        return d.own
    return kindred.transposed(leading.of_one_length(kindred.transposed(d.own, way, other=True)), way, other=True)


def _named_in(spec: Spec, variant: str, seed: int, every: list[Spec]) -> tuple[Array, Array]:
    """Integers as they name rows of a table, from zero on, or by lot, and the table."""
    name, which = variant.split("/")[:2]
    table = _other(which, seed, every)
    if name:
        return _other(name, seed, every) - _range_of(name, every).low, table
    return generator(seed, JOINED).integers(0, max(table.shape), prod(drawn_shape(spec)[:-1])), table


def _gated(d: Draw) -> Array:
    """The variant names what is far to a side, or at one of its bounds, and the case's number."""
    name, _, number = d.variant.partition("/")
    if d.is_target:
        return relations.dwarfed(d.own, d.rows, d.rng, d.scale)
    if d.spec["name"] != name:
        return d.own
    bent, bounds = relations.wide_open(d.own, d.rows, d.rng, d.scale, turn_of(number)), _bounds(d.spec)
    return bent if bounds is None else np.where(bent > 0, bounds[1], bounds[0]).astype(np.float32)


def _terraces(d: Draw) -> Array:
    """The variant is the case's number; before it queries are named whose keys the target holds, and which of both are
    transposed."""
    before, _, turn = d.variant.rpartition("/")
    named, _, way = before.partition("/")
    if named:
        if d.is_target:
            return kindred.transposed(terraces.keys(kindred.transposed(d.own, way), d.rng), way)
        if d.spec["name"] != named:
            return d.own
        bent = terraces.queries(kindred.transposed(d.own, way, other=True), d.rng, d.scale)
        return kindred.transposed(bent, way, other=True)
    if not d.is_target:
        return d.own
    return _by_groups(d, lambda rows: terraces.of_rows(rows, d.rng, d.scale, turn_of(turn)))


def _by_groups(d: Draw, bent: Callable[[Array], Array]) -> Array:
    """What one output gathers, or else rows, as [groups, elements], bent and put back."""
    if not d.own.ndim:
        return d.own
    axes = planes.along(d.own, d.axes)
    rows = planes.laid_out(d.own.astype(np.float64), axes)
    return planes.put_back(bent(rows), d.own, axes).astype(np.float32)


def _kindred(d: Draw) -> Array:
    """The variant names the other input, which of both are transposed, and the case's number."""
    way, _, turn = d.variant.partition("/")[2].rpartition("/")
    own, other = kindred.transposed(d.own, way), kindred.transposed(d.first(), way, other=True)
    return kindred.transposed(kindred.kindred(own, other, d.rng, d.scale, turn_of(turn)), way)


def _laid(d: Draw) -> Array:
    """The variant is the case's number; before it stand rows that are planes, or axes, over which columns may turn."""
    domain = d.spec.get("domain")
    ends = 0.0 if domain in ABOVE else -np.inf, 1.0 if domain == "unit" else np.inf

    def bent(own: Array, turn: int) -> Array:
        return laid.of_floats(own, d.rng, d.scale, turn + d.position, ends)

    def turning(own: Array, turn: int) -> Array:
        return laid.turning_floats(own, d.rng, d.scale, turn + d.position, ends)

    if d.variant.startswith(TURNING):
        return laid.over(d.own, *_axes_and_turn(d.variant.removeprefix(TURNING)), 0, turning)
    if d.variant.startswith(SLOPING):
        return slopes.of_floats(d.own, d.rng, turn_of(d.variant.rpartition("/")[2]), ends, d.variant.startswith(FLAT))
    if d.variant.startswith("axes:"):
        return laid.over(d.own, *_axes_and_turn(d.variant.removeprefix("axes:")), laid.CONTRASTED, bent)
    own = laid.unfolded(d.own) if d.variant.startswith("flat/") else d.own
    return bent(own, turn_of(d.variant.rpartition("/")[2])).reshape(d.own.shape)


def _foremost(d: Draw) -> Array:
    return _by_groups(d, lambda rows: foremost.in_turn(rows, d.rng, d.scale, d.sigma, turn_of(d.variant)))


def _normed(d: Draw) -> Array:
    if turn_of(d.variant) and d.own.ndim > 1:
        return normed.matrices(d.own, d.rng, turn_of(d.variant)).astype(np.float32)
    return _by_groups(d, lambda rows: normed.rows(rows, d.rng))


def _circle(d: Draw) -> Array:
    """Of inputs between bounds, the circle that fits in them."""
    bounds = _bounds(d.spec)
    radius = None if bounds is None else min((abs(end) for end in bounds if end), default=1.0)
    if d.place is None or not d.own.ndim:
        return d.own
    return circles.on_one(d.own.shape, d.place, d.shared, radius, turn_of(d.variant))


def _bounds(spec: Spec) -> tuple[float, float] | None:
    low, high = spec.get("low"), spec.get("high")
    if spec.get("domain") == "unit":
        low, high = low or 0.0, 1.0 if high is None else high
    return None if low is None or high is None else (float(low), float(high))


def _outcast(d: Draw) -> Array:
    """The variant is the case's number; before it stands whether inputs of one shape have the same one together."""
    together, turn = d.variant.startswith("together"), turn_of(d.variant.rpartition("/")[2])
    if together:
        return d.own if d.place is None else outcast.outcast(d.own, d.shared, d.scale, turn, d.first())
    return outcast.outcast(d.own, d.rng, d.scale, turn) if d.is_target else d.own


def _steady(d: Draw) -> Array:
    bounds = _bounds(d.spec)
    exact = d.spec.get("dtype") == "float32"
    return throughout.steady(d.own, d.axes, d.rng, bounds, d.sigma, exact=exact, turn=turn_of(d.variant))


def _medley(d: Draw) -> Array:
    """Nearly one value as well, which lies between an input's bounds."""
    if d.rng.random() < STEADY:
        return _steady(d)
    return medley.of_floats(d.own, d.axes, d.rng, d.scale, d.sigma)


_FAMILIES: dict[str, Callable[[Draw], Array]] = {
    "own": lambda d: d.own,
    "uniform": lambda d: regimes.uniform(d.own, d.rng, d.scale),
    "outlier": bending.outlier,
    "integers": bending.integers,
    "x100": bending.x100,
    "cancelling": bending.cancelling,
    "rows": bending.row_scales,
    "zeros": bending.zero_rows,
    "spike": bending.spike,
    "peaks": bending.peaks,
    "shifted": bending.shifted,
    "ties": bending.ties,
    "marks": bending.marks,
    "about": bending.about,
    "between": lambda d: bending.between(d) if d.own.ndim else d.own,
    "bands": lambda d: _bands(d) if d.is_like else d.own,
    "signs": lambda d: regimes.signs(d.own, d.rng, d.scale, d.is_target, int(d.variant or 0)),
    "sunken": _sunken,
    "tiles": lambda d: (
        regimes.tiles(d.own, d.rng, d.scale, d.sigma, turn_of(d.variant), d.reach) if d.is_like else d.own
    ),
    "last": lambda d: (
        regimes.last(d.own, d.rng, d.scale, d.sigma, turn_of(d.variant)) if d.is_like and d.own.ndim > 1 else d.own
    ),
    "blocks": lambda d: regimes.blocks(d.own, d.rng, d.scale),
    "small": lambda d: regimes.everywhere(d.own, d.rng, d.scale, -6, -2),
    "huge": lambda d: regimes.everywhere(d.own, d.rng, d.scale, *regimes.HUGE),
    "scales": lambda d: regimes.scales(d.own, d.rng, int(d.variant or 0)),
    "patterns": lambda d: _bands(d, regimes.PATTERNS),
    "foremost": _foremost,
    "tuples": lambda d: _by_groups(d, lambda rows: tuples.in_rows(rows, d.rng, d.scale, d.sigma)),
    "heavy": lambda d: _by_groups(d, lambda rows: heavy.of_rows(rows, d.rng, d.scale)),
    "normed": _normed,
    "arranged": lambda d: _by_groups(d, lambda rows: arranged.of_rows(rows, d.rng, turn_of(d.variant))),
    "outcast": _outcast,
    "waves": lambda d: _by_groups(d, lambda rows: waves.of_rows(rows, d.rng, d.scale, d.sigma, turn_of(d.variant))),
    "planes": _planes,
    "narrow": _narrow,
    "towers": _towers,
    "laid": _laid,
    "circle": _circle,
    "steady": _steady,
    "medley": _medley,
    "sided": lambda d: throughout.sided(d.own, d.axes, d.rng, d.scale, turn_of(d.variant), d.position),
    "halved": lambda d: throughout.halved(d.own, d.rng, d.scale, turn_of(d.variant)) if d.own.ndim else d.own,
    "lone": lambda d: _related(d, relations.lone),
    "alike": lambda d: _related(d, lambda peer: _alike(d, peer)),
    "twins": _twins,
    "near": lambda d: relations.near(d.own, d.first(), d.rng, throughout=_is_throughout(d)),
    "delayed": lambda d: relations.delayed(d.own, d.first(), d.rng, turn_of(d.variant.rpartition("/")[2])),
    "level": lambda d: relations.level(d.own, d.first(), d.rng, throughout=_is_throughout(d)),
    "opposed": _opposed,
    "faint": lambda d: relations.faint(d.own, d.shared_rows, d.scale, d.shared),
    "nothing": lambda d: relations.nothing(d.own, d.scale, turn_of(d.variant)),
    "kindred": _kindred,
    "sole": _sole,
    "terraces": _terraces,
    "named": _named,
    "leading": _leading,
    "silent": lambda d: _by_groups(d, lambda rows: silences.of_rows(rows, d.rng, 0.0)),
    "grouped": lambda d: grouped.of_groups(d.own, d.first(), d.rng, d.scale, d.sigma),
    "gated": _gated,
    "doubles": lambda d: doubles.of_floats(d.own, d.rng, turn_of(d.variant)),
    "clusters": lambda d: clusters.of_floats(d.own, d.rng, turn_of(d.variant)),
    "pillars": lambda d: pillars.of_floats(d.own, d.rng, d.variant),
    "masked": _masked,
    "mixed": bending.mixed,
    "whole": lambda d: d.own,
    "exact20": bending.exact20,
}
_BESIDE: dict[str, Callable[[Spec, str, int, list[Spec]], Any]] = {
    "near": _met,
    "level": _met,
    "twins": _first_twin,
    "kindred": lambda _, variant, seed, every: _other(variant.partition("/")[0], seed, every),
    "delayed": lambda _, variant, seed, every: _other(variant.partition("/")[0], seed, every),
    "named": _labels,
    "leading": _named_in,
    "grouped": lambda _, variant, seed, every: _other(variant.partition("/")[0], seed, every),
    "masked": lambda spec, variant, seed, every: (
        _masking(spec, variant, seed, every),
        _range_of(variant.partition("/")[0], every),
    ),
    "sole": lambda _, variant, seed, every: _other(variant.split("/")[1], seed, every),
}
"""What another input holds that a family needs."""
_RELATED = ("lone", "alike", "opposed", "faint", "circle", "outcast")
_WHOLE = ("whole", "mixed")
"""What integers answer as such; to others they stay as they were drawn."""
_MINGLED = ("planes", "towers", "peaks", "signs", "x100")
"""Of floats, in which integers that stand alone, lengths and positions, are not all as they were drawn."""
_PLAIN = (
    "integers", "ties", "marks", "about", "between", "cancelling", "opposed", "exact20", "named", "terraces", "gated",
    "grouped", "arranged", "outcast", "leading",
)  # fmt: skip
"""Of floats, in which integers stay as they were drawn: sums of both are exact, or cancel."""
_PAIRED = ("cancelling", "exact20", "sole", "terraces", "named", "gated", "leading", *_RELATED)

SILENT = "silent:"
"""Of ``sunken``, before the input that is."""
TURNING = "turning:"
"""Of ``laid`` and ``whole``, before axes: columns turn over these."""
SLOPING, FLAT = "sloping", "sloping:flat"
"""Of both: numbers rise along a way through planes, or through rows that are planes."""
MASK = whole_numbers.Range(0, 1)
"""Of floats that are all zero or one."""
GRAPHS = ("corners", "cells", "apart", "pointers", "slots")
"""Of ``whole``: integers that name nodes."""
JOINED = 977
"""Beside a case's seed, of what two integers have in common."""
MET = (
    AGAINST, EVEN, AIMED, MOVED, RETURNED, DOMINO, ASTRIDE, RECALLED, ALTERED, LESSER, VERGE, RESIDUE, VANISHING,
    PRESSED, DRAWN, TRAINED, SUMMIT,
) = (
    "against", "even", "aimed", "moved", "returned", "domino", "astride", "recalled", "altered",
    "lesser", "verge", "residue", "vanishing", "pressed", "drawn", "trained", "summit",
)  # fmt: skip
"""Families that only the reference's process can draw: they depend on what the reference computes, or the kernel."""
ROUGH = "narrow"
"""A family all of which may be lost to limits of elements, and is judged all the same; steady ones from a turn on."""
TALL = "tall"
"""Of the first: everything else is far larger than it was drawn."""
TOGETHER = "together"
"""Of the first: all inputs that are terms of sums at once, in the same rows."""
PARTIAL = (
    *MET,
    "bands", "signs", "sunken", "tiles", "blocks", "small", "huge", "scales", "patterns", "foremost", "tuples",
    "normed", "waves", "lone", "alike", "near", "delayed", "level", "opposed", "faint", "mixed", "whole", "planes",
    "twins", "steady", "sided", "medley", "halved", "nothing", "named", "grouped", "last", "kindred", "sole",
    "terraces", "narrow", "about", "between", "laid", "circle", "gated", "arranged", "outcast", "leading", "silent",
    "heavy", "masked", "doubles", "pillars", "clusters",
)  # fmt: skip
"""Families of many regimes: some rows of a case may be beyond what honest arithmetic holds, and are left out of it."""
TIED = ("integers", "ties", "marks", MOVED)
"""Families of numbers that float32 adds exactly: where a choice among equals shows, or a difference far from zero."""
