"""The values of a case: drawn from seed and family alone, so that server and executor hold the same bits unsent.

It knows argument specifications as the plain dictionaries of ``job.json``, and no kernels, references or limits.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import depths, places, planes, regimes, relations, whole_numbers

Array = Any
Spec = dict[str, Any]
Case = dict[str, Any]
FEW = 4
"""Integers that are so few, a length or a position, are at edges in many a case of floats: none holds several."""

FINEST = 6
"""Powers of two down to which ties go: a rounding of so many binary places meets its half-way points."""


def draw(shape_set: dict[str, Any], case: Case) -> dict[str, Array]:
    """The arrays of one case by argument name, in the arguments' order; Python scalars are not among them.

    ``shape_set`` and ``case`` are a ShapeSet and a Case as dictionaries. Raises ValueError for an unknown family.
    """
    arrays: dict[str, Array] = {}
    target = _target(shape_set, case)
    for position, spec in enumerate(shape_set["inputs"]):
        if spec.get("shape") is not None:
            values = _one(spec, position, case, target, shape_set["inputs"])
            arrays[spec["name"]] = values.reshape(spec["shape"]).astype(_dtype(spec["dtype"]))
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


def is_met(family: str) -> bool:
    """Whether only the reference's process can draw it."""
    return family.partition("/")[0] in MET


def _target(shape_set: dict[str, Any], case: Case) -> Spec:
    """The input that a family which tells the inputs apart transforms differently."""
    floats = [s for s in shape_set["inputs"] if s.get("shape") is not None and _is_float(s)]
    named = [s for s in shape_set["inputs"] if s["name"] == case.get("only")]
    return next(iter(named or floats), {"name": "", "shape": None})


def _one(spec: Spec, position: int, case: Case, target: Spec, every: list[Spec]) -> Array:
    family, _, variant = str(case.get("family", "own")).partition("/")
    if family not in _FAMILIES:
        raise ValueError(f"There is no family {family!r}; known: {', '.join(_FAMILIES)}.")
    shape = _drawn(spec)
    own = _own(spec, shape, _random(int(case["seed"]), position))
    if spec.get("domain") == "constant" or family == "own":
        return own
    word = zlib.crc32(family.encode())
    rng = _random(int(case["seed"]), position, word)
    if _is_whole(spec) and _mingles(family, own, rng):
        return _mingled(spec, own, rng, family, variant)
    paired = family in _PAIRED
    if not paired and case.get("only") not in (None, spec["name"]):
        return _beside_towers(spec, own, variant) if family == "towers" else own
    if _is_whole(spec) and family in _WHOLE:
        return _whole(spec, own, rng, variant, int(case["seed"]), every)
    if not _is_float(spec):
        return _tied_integers(spec, own) if family == "ties" else own
    like = shape == _drawn(target)
    is_target = spec["name"] == target["name"]
    draw = _Draw(spec, own, rng, variant, float(case.get("scale", 1.0)), is_target, like)
    draw.largest = max(prod(_drawn(other)) for other in every if other.get("shape") is not None)
    if family in _BESIDE:
        draw.first = lambda: _met(spec, variant or spec["name"], int(case["seed"]), every)
    if family in _RELATED:
        draw.shared = _random(int(case["seed"]), word)
        draw.peers = [n for n, s in enumerate(every) if s.get("shape") is not None and _peers(s, target)]
        draw.place = draw.peers.index(position) if position in draw.peers else None
        draw.first = lambda: _own(every[draw.peers[0]], shape, _random(int(case["seed"]), draw.peers[0]))
    if family == "faint":
        draw.shared_rows = None if variant == "whole" else _drawn(target)[:-1]
    return inside(spec, _FAMILIES[family](draw))


def _met(spec: Spec, variant: str, seed: int, every: list[Spec]) -> Array:
    """The own draw of the input that a variant names first; with its factor, if one is named: ``z:<factor>:<input>:2``
    or ``z:2``."""
    numbers = {s["name"]: number for number, s in enumerate(every)}

    def own(name: str) -> Array:
        return _own(every[numbers[name]], _drawn(every[numbers[name]]), _random(seed, numbers[name]))

    name, *factor = variant.split(":")
    if not factor:
        return own(name)
    over = relations.laid_over(own(name), _drawn(spec)) * float(factor[-1])
    if len(factor) == 1:
        return over
    with np.errstate(all="ignore"):
        made = relations.FACTORS[factor[0]](relations.laid_over(own(factor[1]), _drawn(spec)))
    return over * np.where(np.isfinite(made), made, 1)


def _random(*key: int) -> Any:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(key))))


def _peers(spec: Spec, target: Spec) -> bool:
    return _is_float(spec) and spec.get("domain") != "constant" and _drawn(spec) == _drawn(target)


class _Draw:
    """What a family has to work with: the own draw, randomness of its own, and how strongly to bend."""

    def __init__(
        self, spec: Spec, own: Array, rng: Any, variant: str, scale: float, is_target: bool, is_like: bool
    ) -> None:
        self.spec, self.own, self.rng = spec, own, rng
        self.variant, self.scale, self.is_target = variant, scale, is_target
        self.is_like = is_like
        """It has the target's shape."""
        self.sigma = float(spec.get("sigma", 1.0))
        self.shared: Any = None
        """Randomness that all inputs of a case have in common."""
        self.shared_rows: tuple[int, ...] | None = None
        """How many rows the target has; None where no input is known to have an output's."""
        self.largest = own.size
        """Elements of the largest input."""
        self.peers: list[int] = []
        """Which inputs have the target's shape; ``place`` is the place among them, None for others."""
        self.place: int | None = None
        self.first: Callable[[], Array] = lambda: own
        """The own draw of the first of them, or of the input that this one is near."""

    @property
    def rows(self) -> tuple[int, ...]:
        """The shape of one number per row, a row being the last axis; a vector's rows are its elements."""
        shape = self.own.shape
        return (*shape[:-1], 1) if len(shape) > 1 else tuple(shape)


def _own(spec: Spec, shape: tuple[int, ...], rng: Any) -> Array:
    """The problem's own distribution, float32 (int64 for integers)."""
    domain = spec.get("domain", "real")
    if domain == "constant":
        return np.full(shape, spec["value"], dtype=np.float64)
    if not _is_float(spec) or domain in ("integer", "index"):
        within = _range(spec)
        return rng.integers(within.low, within.high + 1, size=shape)
    if domain == "unit":
        return rng.random(shape, dtype=np.float32)
    if domain == "probability":
        return inside(spec, rng.standard_exponential(shape, dtype=np.float32))
    normal = rng.standard_normal(shape, dtype=np.float32) * np.float32(spec.get("sigma", 1.0))
    return inside(spec, normal + np.float32(spec.get("mean", 0.0)))


def inside(spec: Spec, values: Array) -> Array:
    """The values brought into the declared domain, disturbing as little of their structure as possible."""
    domain = spec.get("domain", "real")
    if domain in ("nonnegative", "positive", "unit", "probability"):
        values = np.abs(values)
    if domain == "positive":
        values = np.maximum(values, np.float32(2.0**-40))
    if domain == "unit" and values.size:
        values = values / max(1.0, float(values.max()))
    if domain == "probability" and values.size:
        total = values.sum(axis=-1, keepdims=True)
        values = cast(Any, np).where(total > 0, values / np.where(total > 0, total, 1), 1.0 / values.shape[-1])
    if domain in ("integer", "index"):
        values = np.rint(values)
    return _clipped(spec, values)


def _clipped(spec: Spec, values: Array) -> Array:
    low, high = spec.get("low"), spec.get("high")
    return values if low is None and high is None else np.clip(values, low, high)


def _outlier(d: _Draw) -> Array:
    """One channel in a hundred, at least one, thirty times as large; channels lie along either of the last two axes."""
    axis = int(d.rng.integers(max(0, d.own.ndim - 2), d.own.ndim)) if d.own.ndim else 0
    length = d.own.shape[axis] if d.own.ndim else 1
    chosen = d.rng.permutation(length)[: max(1, length // 100)]
    factor = np.ones(length, np.float32)
    factor[chosen] = 30 * d.scale
    return d.own * factor.reshape([-1 if i == axis else 1 for i in range(d.own.ndim)])


def _integers(d: _Draw) -> Array:
    """Small ones; what is positive, as scales are, is a power of two: half-way points behind it are exact."""
    if d.spec.get("domain") == "positive":
        return np.float32(d.scale) * np.float32(2.0) ** d.rng.integers(-3, 4, d.own.shape).astype(np.float32)
    return d.rng.integers(-8, 9, d.own.shape).astype(np.float32) * np.float32(d.scale)


def _x100(d: _Draw) -> Array:
    return d.own * np.float32(100 * d.scale)


def _cancelling(d: _Draw) -> Array:
    """One half of an axis is minus the other times 1 + xi/64; inputs that share the axis are mirrored with plus.

    The variant is the axis' length; without it the target's last axis is meant.
    """
    length = int(d.variant) if d.variant else d.own.shape[-1]
    axes = [axis for axis, n in enumerate(d.own.shape) if n == length]
    if not axes or length < 2:
        return d.own * np.float32(d.scale)
    values = np.moveaxis(np.array(d.own, dtype=np.float32), axes[-1] if d.is_target else axes[0], -1)
    half = length // 2
    xi = d.rng.standard_normal(values[..., :half].shape, dtype=np.float32)
    sign = np.float32(-1.0) * (1 + xi / 64) if d.is_target else np.float32(1.0)
    values[..., length - half :] = values[..., :half] * sign
    return np.moveaxis(values, -1, axes[-1] if d.is_target else axes[0]) * np.float32(d.scale)


def _row_scales(d: _Draw) -> Array:
    return d.own * (10.0 ** d.rng.uniform(-6, 4, d.rows) * d.scale).astype(np.float32)


def _zero_rows(d: _Draw) -> Array:
    kept = d.rng.random(d.rows) >= 0.15
    kept.reshape(-1)[int(d.rng.integers(kept.size))] = False
    return d.own * kept * np.float32(d.scale)


def _spike(d: _Draw) -> Array:
    """In every row one element is set to plus or minus 10^U(0, 2.3), half of them at the edges of rows and tiles."""
    values = np.array(d.own, dtype=np.float32)
    rows = values.reshape(-1, values.shape[-1])
    count, length = rows.shape
    at_edge = d.rng.choice(places.edges(length), count)
    position: Array = cast(Any, np).where(d.rng.random(count) < 0.5, at_edge, d.rng.integers(0, length, count))
    rows[np.arange(count), position] = _signed(d, (count,)) * d.sigma
    return values


def _peaks(d: _Draw) -> Array:
    """In every row one element towers over the rest by 10^U(2, 2.3): at edges, then in every column in turn.

    The variant counts cases.
    """
    values = np.array(d.own, dtype=np.float32)
    rows = values.reshape(-1, values.shape[-1])
    count, length = rows.shape
    columns = places.peaks(d.rng, count, length, int(d.variant or 0))
    rows[np.arange(count), columns] = 10.0 ** d.rng.uniform(2, 2.3, count) * d.scale * d.sigma
    return values


def _shifted(d: _Draw) -> Array:
    """Rows moved by plus or minus 10^U(0, 2.3) standard deviations, at most the declared offset."""
    limit = float(d.spec.get("offset", 3.0))
    shift = np.clip(_signed(d, d.rows), -limit, limit) * d.sigma
    return d.own + shift.astype(np.float32)


def _signed(d: _Draw, shape: tuple[int, ...]) -> Array:
    sign: Array = np.where(d.rng.random(shape) < 0.5, -1.0, 1.0)
    return sign * 10.0 ** d.rng.uniform(0, 2.3, shape) * d.scale


def _mixed(d: _Draw) -> Array:
    """Every row follows another family, so that one case asks for what several would; vectors stay as they are.

    Where there are fewer rows than those, the next case (the variant) goes on with them.
    """
    if d.own.ndim < 2:
        return d.own
    values = np.array(d.own, dtype=np.float32)
    rows = values.shape[:-1]
    taken = np.arange(prod(rows)) + _turn(d.variant) * prod(rows)
    kinds = d.rng.permutation(taken % (len(_MIXTURE) + len(regimes.REGIMES))).reshape(rows)
    for kind, family in enumerate(_MIXTURE):
        values[kinds == kind] = family(d)[kinds == kind]
    for kind, regime in enumerate(regimes.REGIMES, len(_MIXTURE)):
        values[kinds == kind] = regime(regimes.Region(d.own[kinds == kind], d.rng, d.scale, d.sigma))
    return values


def mixed_turns(shape: Sequence[int]) -> int:
    """Cases of mixed rows until each family and regime had a row."""
    return -(-(len(_MIXTURE) + len(regimes.REGIMES)) // max(1, prod(shape[:-1])))


def _bands(d: _Draw) -> Array:
    """Bands of rows, or of columns (``turned``), of as many regimes; what has another shape is as it was drawn."""
    if not d.is_like:
        return d.own
    turned = d.variant.startswith("turned")
    return regimes.bands(d.own, d.rng, d.scale, d.sigma, turned, turn=_turn(d.variant.removeprefix("turned/")))


def _planes(d: _Draw) -> Array:
    """The variant names axes, joined by commas, and the case's number."""
    axes, turn = _axes_and_turn(d.variant)
    return planes.bent(d.own, axes, d.rng, d.scale, d.sigma, turn)


def _towers(d: _Draw) -> Array:
    axes, turn = _axes_and_turn(d.variant)
    return planes.towers(d.own, axes, d.rng, d.scale * d.sigma, turn)


def _beside_towers(spec: Spec, own: Array, variant: str) -> Array:
    """In two cases of three at the ends other inputs are positive, for products with towers to be towers as well."""
    _, turn = _axes_and_turn(variant)
    return inside(spec, np.abs(own)) if _is_float(spec) and turn % 6 in (0, 4) else own


def _axes_and_turn(variant: str) -> tuple[list[int], int]:
    axes, _, turn = variant.partition("/")
    return [int(axis) for axis in axes.split(",") if axis] or [0], _turn(turn)


def _turn(variant: str) -> int:
    """Which of a family's cases it is."""
    return int(variant) if variant.isdecimal() else 0


def _sunken(d: _Draw) -> Array:
    """All inputs far below zero, or, of ``products``, the large ones so that their products are."""
    how, _, turn = d.variant.partition("/")
    if how == "products" and not depths.is_small(d.own.size, d.largest):
        return depths.factor(d.own, _turn(turn), d.is_target)
    return depths.sunken(d.own, _turn(turn))


def _related(d: _Draw, how: Callable[[relations.Peer], Array]) -> Array:
    if d.place is None:
        return d.own
    return how(relations.Peer(d.own, d.place, len(d.peers), int(d.variant or 0), d.rng, d.shared))


_MIXTURE: tuple[Callable[[_Draw], Array], ...] = (_x100, _row_scales, _zero_rows, _spike, _shifted, _peaks)


def _ties(d: _Draw) -> Array:
    """Few distinct values, signed zeros among them, first and last element of a row extreme.

    Half of them are half-way between whole numbers, in every second row between those of a power of two.
    """
    levels = np.array([-1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.5], np.float32) * np.float32(d.scale * d.sigma)
    values = d.rng.choice(levels, d.own.shape)
    if values.ndim and values.shape[-1] > 1:
        extreme = np.float32(4 * d.scale * d.sigma)
        values[..., 0], values[..., -1] = extreme, -extreme if d.rng.random() < 0.5 else extreme
    finer: Array = np.where(d.rng.random(d.rows) < 0.5, 0, d.rng.integers(1, FINEST + 1, d.rows))
    return values * np.float32(2.0) ** -finer.astype(np.float32)


def _marks(d: _Draw) -> Array:
    """Numbers at which something begins or ends, and the next ones to them, among own ones in every second row."""
    marks = np.array(d.spec.get("marks") or [0.0], np.float32)
    at = d.rng.choice(marks, d.own.shape)
    aside = [at, np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf))]
    near = np.choose(d.rng.choice([0, 0, 1, 2], d.own.shape), aside)
    among: Array = d.rng.random(d.own.shape) < np.where(d.rng.random(d.rows) < 0.5, 0.25, 1.0)
    return cast(Any, np).where(among, near, d.own)


def _exact20(d: _Draw) -> Array:
    """Odd 20-bit integers in the target; elsewhere -1, 0, 1 with eight non-zeros along the axis that is the variant."""
    if d.is_target:
        odd = 2 * d.rng.integers(0, 1 << 19, d.own.shape) + 1
        return (odd * d.rng.choice([-1, 1], d.own.shape)).astype(np.float32)
    axis = int(d.variant or 0)
    length = d.own.shape[axis]
    values = np.zeros(np.moveaxis(d.own, axis, -1).shape, np.float32)
    columns = values.reshape(-1, length)
    count, start = min(8, length), int(d.rng.integers(length))
    for turn in range(count):
        position = (start + np.arange(len(columns)) * count + turn) % length
        columns[np.arange(len(columns)), position] = d.rng.choice([-1, 1], len(columns))
    return np.moveaxis(values, -1, axis)


def _tied_integers(spec: Spec, own: Array) -> Array:
    """Integers with the smallest and the largest at the ends and many ties between."""
    low, high, _ = _range(spec)
    values = np.where(own > (low + high) // 2, high, low)
    flat = values.reshape(-1)
    if flat.size:
        flat[0], flat[-1] = low, high
    return values


def _whole(spec: Spec, own: Array, rng: Any, variant: str, seed: int, every: list[Spec]) -> Array:
    """Bands of integers, of rows or of columns (``turned``); the variant ends in the case's number."""
    turned = variant.startswith("turned")
    within = _range(spec)
    if variant.startswith("beside:"):
        return _beside(spec, own, variant, seed, every)
    if variant.startswith("ends"):
        first = next(other["name"] for other in every if _is_whole(other))
        lowest = variant == "ends/1" and spec["name"] == first
        return np.full_like(own, within.low if lowest else within.high)
    if variant.startswith("edges"):
        return inside(spec, whole_numbers.edges(own, rng, within, _turn(variant.removeprefix("edges/"))))
    return whole_numbers.bands(own, rng, within, turned, _turn(variant.removeprefix("turned/")))


def _beside(spec: Spec, own: Array, variant: str, seed: int, every: list[Spec]) -> Array:
    """The variant names the other integer, and the case's number."""
    _, name, turn = variant.split(":")
    place = next(number for number, other in enumerate(every) if other["name"] == name)
    other = _own(every[place], _drawn(every[place]), _random(seed, place))
    return inside(spec, whole_numbers.beside(own, other, _range(spec), int(turn)))


def _mingles(family: str, own: Array, rng: Any) -> bool:
    return family in _MINGLED or bool(family not in _WHOLE and own.size <= FEW and rng.random() < 0.5)


def _mingled(spec: Spec, own: Array, rng: Any, family: str, variant: str) -> Array:
    """Beside towers at the ends of axes all integers are the largest: a prefix has its full length, while rows of
    indices begin with the first and end with the last.
    """
    within = _range(spec)
    if family == "towers" and _axes_and_turn(variant)[1] % 2 == 0:
        return whole_numbers.framed(own, within) if within.high - within.low > 2 else np.full_like(own, within.high)
    return whole_numbers.mingled(own, rng, within)


_FAMILIES: dict[str, Callable[[_Draw], Array]] = {
    "own": lambda d: d.own,
    "uniform": lambda d: regimes.uniform(d.own, d.rng, d.scale),
    "outlier": _outlier,
    "integers": _integers,
    "x100": _x100,
    "cancelling": _cancelling,
    "rows": _row_scales,
    "zeros": _zero_rows,
    "spike": _spike,
    "peaks": _peaks,
    "shifted": _shifted,
    "ties": _ties,
    "marks": _marks,
    "bands": _bands,
    "signs": lambda d: regimes.signs(d.own, d.rng, d.scale, d.is_target, int(d.variant or 0)),
    "sunken": _sunken,
    "tiles": lambda d: regimes.tiles(d.own, d.rng, d.scale, d.sigma, _turn(d.variant)) if d.is_like else d.own,
    "blocks": lambda d: regimes.blocks(d.own, d.rng, d.scale),
    "small": lambda d: regimes.everywhere(d.own, d.rng, d.scale, -6, -2),
    "huge": lambda d: regimes.everywhere(d.own, d.rng, d.scale, 4, 12),
    "scales": lambda d: regimes.scales(d.own, d.rng, int(d.variant or 0)),
    "patterns": lambda d: regimes.bands(d.own, d.rng, d.scale, d.sigma, of=regimes.PATTERNS, turn=_turn(d.variant)),
    "planes": _planes,
    "towers": _towers,
    "lone": lambda d: _related(d, relations.lone),
    "alike": lambda d: _related(d, lambda peer: relations.alike(peer, d.first())),
    "near": lambda d: relations.near(d.own, d.first(), d.rng),
    "level": lambda d: relations.level(d.own, d.first(), d.rng),
    "opposed": lambda d: relations.opposed(d.own, int(d.variant or d.own.shape[-1]), d.scale, d.is_target, d.shared),
    "faint": lambda d: relations.faint(d.own, d.shared_rows, d.scale, d.shared),
    "mixed": _mixed,
    "whole": lambda d: d.own,
    "exact20": _exact20,
}
_BESIDE = ("near", "level")
_RELATED = ("lone", "alike", "opposed", "faint")
_WHOLE = ("whole", "mixed")
"""What integers answer as such; to others they stay as they were drawn."""
_MINGLED = ("planes", "towers", "peaks", "signs", "x100")
"""Of floats, in which integers are not all as they were drawn."""
_PAIRED = ("cancelling", "exact20", *_RELATED)

MET = AGAINST, EVEN, AIMED, MOVED = "against", "even", "aimed", "moved"
"""Families that only the reference's process can draw: they depend on what the reference computes."""
PARTIAL = (
    *MET,
    "bands", "signs", "sunken", "tiles", "blocks", "small", "huge", "scales", "patterns", "lone", "alike", "near",
    "level", "opposed", "faint", "mixed", "whole", "planes",
)  # fmt: skip
"""Families of many regimes: some rows of a case may be beyond what honest arithmetic holds, and are left out of it."""
TIED = ("integers", "ties", "marks", MOVED)
"""Families of numbers that float32 adds exactly: where a choice among equals shows, or a difference far from zero."""


def _drawn(spec: Spec) -> tuple[int, ...]:
    """The shape in which an argument is drawn; the kernel's may be another."""
    return tuple(spec.get("drawn") or spec["shape"] or ())


def _is_float(spec: Spec) -> bool:
    return "float" in str(spec.get("dtype", "float32"))


def _is_whole(spec: Spec) -> bool:
    return not _is_float(spec) or spec.get("domain") in ("integer", "index")


def _range(spec: Spec) -> whole_numbers.Range:
    high = 1 if spec.get("high") is None else int(spec["high"])
    return whole_numbers.Range(int(spec.get("low") or 0), high, tuple(map(int, spec.get("marks") or ())))


def _dtype(name: str) -> Any:
    """The NumPy dtype of a Trainium format; those that NumPy itself lacks come from the simulator's table."""
    if name in ("float32", "tfloat32"):
        return np.dtype(np.float32)
    try:
        return np.dtype("uint8" if name == "bool_" else name)
    except TypeError:
        from nki_anvil.sim.dtypes import numpy_dtype

        return cast(Any, numpy_dtype(name))
