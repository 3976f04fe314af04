"""Measures the cases of a shape set in the reference's process: draw, run honestly, keep what kernels are judged by."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from nki_anvil.backends.worker import planes
from nki_anvil.backends.worker.arguments import inside
from nki_anvil.backends.worker.inputs import (
    AGAINST,
    AIMED,
    ALTERED,
    ASTRIDE,
    DOMINO,
    EVEN,
    LESSER,
    MOVED,
    PARTIAL,
    RECALLED,
    RETURNED,
    TALL,
    TIED,
    TOGETHER,
    digest,
    draw,
    is_met,
    is_rough,
)
from nki_anvil.backends.worker.places import EDGES
from nki_anvil.backends.worker.relations import TIMES, against, level
from nki_anvil.lab import aiming, altered, astride, dominoes, limits, recalled, telling_apart, yardstick, yardstick_file
from nki_anvil.lab.arithmetic import is_array
from nki_anvil.lab.honest_runs import HonestRuns, is_float
from nki_anvil.lab.lesser_references import LesserReferences
from nki_anvil.lab.meeting import WEIGHED
from nki_anvil.lab.reference_module import ReferenceFault, ReferenceModule
from nki_anvil.lab.searched_reference import Reference
from nki_anvil.lab.sides import Sides, joined
from nki_anvil.lab.yardstick import Yardstick
from nki_anvil.sim.dtypes import numpy_dtype

Array = np.ndarray[Any, Any]
Record = dict[str, Any]

HALVINGS: Final = 12
"""Each with a seed of its own: what no magnitude changes, another draw may."""
REDRAWN: Final = 2
"""Draws at most of a case that only the reference can make, and that has no magnitude."""
PROBE_TRIES: Final = 8
UNEVEN_FAMILIES: Final = ("medley", "laid", "terraces", "planes")
UNEVEN_TERMS: Final = 4.0
"""By how much limits are wider where sums have terms of every kind, or exactly equal ones: few orders of summation err
alike there."""
PROBE_ANSWER: Final = 100.0
"""A probe is used where the exact result answers it by this many times the row limit."""


class Measuring:
    """One shape set of one reference; ``folder`` gets what is kept of its cases."""

    def __init__(self, module: ReferenceModule, request: Record, folder: Path) -> None:
        self.module, self.folder = module, folder
        self.arguments: list[Record] = request["arguments"]
        self.own_by_reference: bool = request["own_draws"] == "reference"
        self.given: list[Any] | None = request["given"]
        """Shapes of the kernel's arguments; None where only the module's own transform can make them."""
        self.runs = HonestRuns(module, request["dtypes"], request["precision"], request["noise"], request["lots"])
        self.sides: Sides = {}
        """What conditions came to in cases that are judged."""
        self.lessers = LesserReferences(module)
        self._held: list[Array] | None = None
        self._known: tuple[int, dict[str, Any], Yardstick] | None = None
        """A large own draw with its seed: probes disturb it rather than each a draw of its own."""

    def measure(self, case: Record) -> Record:
        """Find the scale at which the case is admissible, and keep its yardstick; for a probe, find a place first."""
        if case.get("probe"):
            return self._probe(case)
        own = case["family"] == "own"
        family = case["family"].partition("/")[0]
        partial, tied = family in PARTIAL, family in TIED
        turns = 1 if own else REDRAWN if is_met(family) else case.get("halvings") or HALVINGS
        for turn in range(turns):
            seed, scale = int(case["seed"]) + turn, float(case.get("scale", 1.0)) * 0.5**turn
            drawn = self.draw({**case, "seed": seed, "scale": scale})
            self.runs.sides.clear()
            found = self.runs.measure(
                list(drawn.values()), seed, partial=partial, tied=tied, rough=is_rough(case["family"])
            )
            if found is not None and family in UNEVEN_FAMILIES and not all(output.rowwise for output in found.outputs):
                found = yardstick.widened(found, UNEVEN_TERMS, roughly=True)
            if found is not None and (found.admissible or (own and found.finite)):
                joined(self.sides, self.runs.sides)
                self.lessers.look_at(drawn)
                if own:
                    self._remember(seed, drawn, found)
                return self._keep({**case, "seed": seed}, drawn, found, scale, [])
        return {"key": case["key"], "admissible": False}

    def draw(self, case: Record) -> dict[str, Any]:
        """The reference's arguments by name, scalars among them."""
        if case["family"] == "own" and self.own_by_reference:
            drawn = dict(zip([a["name"] for a in self.arguments], self.module.get_inputs(case["seed"]), strict=True))
            return {name: self._cast(name, item) for name, item in drawn.items()}
        if case["family"] == RETURNED:
            return self._told(case["given"])
        if is_met(case["family"]):
            return self._met(case)
        arrays = draw({"inputs": self.arguments}, {**case, "probes": ()})
        return {a["name"]: _scalar(a) if a["shape"] is None else arrays[a["name"]] for a in self.arguments}

    def _told(self, held: dict[str, Array]) -> dict[str, Any]:
        """The arguments, of which the arrays are given in the kernel's shapes."""
        arrays = {
            a["name"]: held[a["name"]].view(numpy_dtype(a["dtype"])).reshape(a["drawn"] or a["shape"])
            for a in self.arguments
            if a["shape"] is not None
        }
        return {a["name"]: _scalar(a) if a["shape"] is None else arrays[a["name"]] for a in self.arguments}

    def _met(self, case: Record) -> dict[str, Any]:
        """An own draw that is bent, in which constants of the problem stay as they are."""
        drawn = self.draw({**case, "family": "own"})
        constants = {a["name"]: drawn[a["name"]] for a in self.arguments if a.get("domain") == "constant"}
        return self._bent(case, drawn) | constants

    def _bent(self, case: Record, drawn: dict[str, Any]) -> dict[str, Any]:
        """The same in which rows of one input nearly cancel, or even out, what they meet in the reference first."""
        name = case["only"]
        random = np.random.default_rng(int(case["seed"]))
        family, _, turn = case["family"].partition("/")
        which, _, how = turn.partition("/")
        if how == TALL:
            drawn |= self._cast_all(drawn, self._tall(drawn, random))
        if (of_all := self._of_all(family, which, drawn, case)) is not None:
            return of_all
        if family == AIMED:
            return drawn | self._cast_all(drawn, aiming.aimed(self.runs, drawn, name, which, random))
        if family == MOVED:
            return drawn | self._cast_all(drawn, aiming.moved(self.runs, drawn, name, int(which), random))
        gathered: dict[str, Sequence[int]] = case.get("gathered") or {}
        axes = gathered.get(name, ())
        meeting = self.runs.meeting(list(drawn.values()), list(drawn).index(name))
        bent = drawn[name]
        if family == AGAINST and meeting.opposites:
            opposite = meeting.opposites[int(which) % len(meeting.opposites)]
            if how == TALL:
                bent = _of_groups(bent, opposite, axes, lambda one, other: against(one, other, random))
            else:
                everything = how in ("throughout", "nearer")
                bent = against(bent, opposite, random, throughout=everything, nearer=how == "nearer")
        elif family == EVEN and meeting.factor is not None:
            bent = _of_groups(bent, meeting.factor, axes, lambda one, other: level(one, other, random))
        return drawn | self._cast_all(drawn, {name: bent})

    def _of_all(self, family: str, which: str, drawn: dict[str, Any], case: Record) -> dict[str, Any] | None:
        """What is found for all inputs together; None of a family that is of one."""
        random = np.random.default_rng(int(case["seed"]))
        if family == DOMINO:
            other = self.draw({**case, "family": "own", "seed": int(case["seed"]) ^ 1})
            return drawn | dominoes.searched(self.searching(), drawn, other, random, int(which))
        if family == LESSER:
            return drawn | self._told_apart(drawn, case, int(which), random)
        if family == ALTERED:
            return drawn | self._altered(drawn, case, int(which), random)
        if family == RECALLED:
            other = self.draw({**case, "family": "own", "seed": int(case["seed"]) ^ 1})
            return self._recalled(drawn, other, random)
        if family == ASTRIDE:
            how = case["family"].split("/")[2:]
            scaled, weighed = self.mixes(drawn, how[0], int(case["seed"])) if how else self.scales(drawn)
            return scaled(astride.factor(scaled, weighed, int(which)))
        if which == TOGETHER:
            return self._all_against(drawn, random)
        if which == "lifted":
            return drawn | self._cast_all(drawn, aiming.lifted(self.runs, drawn, random))
        return None

    def _altered(self, drawn: dict[str, Any], case: Record, turn: int, random: Any) -> dict[str, Any]:
        """In every second turn what the reference holds is laid into rows first; in every second two it is narrowed."""
        other = self.draw({**case, "family": "own", "seed": int(case["seed"]) ^ 1})
        for begun in (*([self._recalled(drawn, other, random)] if turn % 2 else []), drawn):
            with contextlib.suppress(ReferenceFault):  # it may not take rows that hold such
                narrowed = turn // 2 % 2 == 1
                return altered.altered(self.searching(), begun, other, self.marks(), random, narrowed=narrowed)
        return drawn

    def _recalled(self, drawn: dict[str, Any], other: dict[str, Any], random: Any) -> dict[str, Any]:
        return drawn | self._cast_all(drawn, recalled.laid(self.held(drawn, other), drawn, random))

    def marks(self) -> dict[str, Sequence[float]]:
        return {a["name"]: _marks(a) for a in self.arguments}

    def _told_apart(self, drawn: dict[str, Any], case: Record, number: int, random: Any) -> dict[str, Any]:
        """Rows that tell the reference from it without one thing; as drawn where none is found. They are sought from
        own draws, then from rows that hold what the reference holds."""
        without = self.lessers.without(number)
        other = self.draw({**case, "family": "own", "seed": int(case["seed"]) ^ 1})
        if without is None:
            return drawn
        holding = recalled.laid(self.held(drawn, other), drawn, random)
        for begun in (drawn, *([drawn | self._cast_all(drawn, holding)] if holding else [])):
            with contextlib.suppress(ReferenceFault):
                walk = telling_apart.Walk(self.searching(), without, begun, other, random)
                found = walk.searched(self.marks())
                if walk.found.any():
                    return found
        return drawn

    def _all_against(self, drawn: dict[str, Any], random: Any) -> dict[str, Any]:
        """Each input in turn nearly what makes its first sum come to nothing, in the same rows as near."""
        seed = int(random.integers(1 << 32))
        for position, (name, item) in enumerate(drawn.items()):
            if is_float(item) and item.size > 1:
                opposites = self.runs.meeting(list(drawn.values()), position).opposites[:1]
                for opposite in opposites:
                    bent = against(item, opposite, random, beside=np.random.default_rng(seed))
                    drawn = drawn | self._cast_all(drawn, {name: bent})
        return drawn

    def held(self, drawn: dict[str, Any], other: dict[str, Any]) -> list[Array]:
        """Sequences that the reference is written with, or computes with whatever it is given."""
        if self._held is None:
            runs = [self.runs.operands(list(given.values())) for given in (drawn, other)]
            named = recalled.named(self.module.held)
            self._held = recalled.sequences([*named, *recalled.unmoved(*runs)])
        return self._held

    def scales(self, drawn: dict[str, Any]) -> tuple[astride.Scaled, astride.Weighed]:
        """Draws of which all free floats are so many times as large, and what few numbers made of them are. What is few
        numbers itself, a limit for instance, stays beside larger inputs."""
        free = list(self._times(drawn, 1.0))
        many = [name for name in free if drawn[name].size > WEIGHED] or free

        def scaled(factor: float) -> dict[str, Any]:
            times = self._times(drawn, factor)
            return drawn | self._cast_all(drawn, {name: times[name] for name in many})

        return scaled, lambda given: self.runs.weighed(list(given.values()))

    def mixes(self, drawn: dict[str, Any], how: str, seed: int) -> tuple[astride.Scaled, astride.Weighed]:
        """The same of draws of which so many elements of all floats are others; which they are is the seed's."""
        floats = {name: item for name, item in drawn.items() if is_float(item) and item.size > WEIGHED}

        def scaled(factor: float) -> dict[str, Any]:
            random = np.random.default_rng(seed)
            return drawn | self._cast_all(drawn, astride.mixed(floats, how, factor, random) if floats else {})

        return scaled, self.scales(drawn)[1]

    def searching(self) -> Reference:
        """The reference for a search of inputs."""
        return Reference(
            lambda given: self.module.plain(list(given.values())),
            lambda given: given | self._cast_all(given, _arrays(given)),
        )

    def _tall(self, drawn: dict[str, Any], random: Any) -> dict[str, Array]:
        """All floats that have no bounds, as many times as large: what is added to a root is little beside a sum's
        terms then, also where these nearly cancel."""
        return self._times(drawn, 10.0 ** random.uniform(*TIMES))

    def _times(self, drawn: dict[str, Any], factor: float) -> dict[str, Array]:
        """Floats without bounds, so many times as large."""
        free = [a["name"] for a in self.arguments if a.get("domain", "real") == "real" and a.get("high") is None]
        return {name: drawn[name].astype(np.float64) * factor for name in free if is_float(drawn[name])}

    def _cast_all(self, drawn: dict[str, Any], bent: dict[str, Any]) -> dict[str, Any]:
        """Inputs within their domains, in their dtypes."""
        known = {a["name"]: a for a in self.arguments}
        return {name: inside(known[name], item).astype(drawn[name].dtype) for name, item in bent.items()}

    def _cast(self, name: str, item: Any) -> Any:
        if not is_array(item):
            return item
        return item.astype(numpy_dtype(next(a["dtype"] for a in self.arguments if a["name"] == name)))

    def _remember(self, seed: int, drawn: dict[str, Any], found: Yardstick) -> None:
        if self._known is None and found.admissible and any(output.large for output in found.outputs):
            self._known = seed, drawn, found

    def _keep(
        self, case: Record, drawn: dict[str, Any], found: Yardstick, scale: float, probes: list[Record]
    ) -> Record:
        yardstick_file.save(found, self.folder / f"{case['key']}.npz")
        given = self._given(drawn)
        own = case["family"] == "own" and self.own_by_reference
        uploaded = self.given is None or own or is_met(case["family"])
        if uploaded:
            np.savez(self.folder / f"{case['key']}.inputs.npz", **{n: _storable(a) for n, a in given.items()})  # type: ignore[arg-type]
        return {
            "key": case["key"], "admissible": True, "seed": int(case["seed"]), "scale": scale, "uploaded": uploaded,
            "probes": probes, "inputs_digest": digest(given),
        }  # fmt: skip

    def _given(self, drawn: dict[str, Any]) -> dict[str, Any]:
        """The kernel's arrays by name: the drawn ones in the kernel's shapes, or what the module's transform makes."""
        if self.given is not None:
            pairs = zip(drawn.items(), self.given, strict=True)
            return {name: item.reshape(shape) for (name, item), shape in pairs if is_array(item)}
        transform = self.module.function("transform_to_nki_inputs")
        given: list[Any] = list(transform(list(drawn.values()))) if transform else []
        return {f"input{p}": np.ascontiguousarray(i) for p, i in enumerate(given) if is_array(i)}

    def _probe(self, case: Record) -> Record:
        """Disturb one element; keep the first place, of a few tried, to which the exact result answers clearly."""
        rng = np.random.default_rng([int(case["seed"]), int(case["probe"]["turn"])])
        seed, drawn, base = self._undisturbed(case)
        name = case["probe"]["input"]
        if base is None:
            return {"key": case["key"], "admissible": False}
        for _ in range(PROBE_TRIES):
            probed, probe = _disturb(drawn, self._argument(name), bool(case["probe"]["edge"]), rng)
            inputs = list(probed.values())
            exact = self.runs.exact(inputs)
            if _answers(base, exact[0]):
                found = self.runs.measure(inputs, int(case["seed"]), exact)
                if found is not None and found.admissible:
                    return self._keep({**case, "seed": seed}, probed, found, 1.0, [probe])
        return {"key": case["key"], "admissible": False}

    def _undisturbed(self, case: Record) -> tuple[int, dict[str, Any], Yardstick | None]:
        """The draw that a probe disturbs, with its seed and yardstick."""
        if self._known is not None:
            return self._known
        seed, drawn = int(case["seed"]), self.draw(case)
        found = self.runs.measure(list(drawn.values()), seed)
        if found is not None:
            self._remember(seed, drawn, found)
        return seed, drawn, found

    def _argument(self, name: str) -> Record:
        return next(a for a in self.arguments if a["name"] == name)


def _arrays(drawn: dict[str, Any]) -> dict[str, Array]:
    return {name: item for name, item in drawn.items() if is_array(item)}


def _of_groups(own: Array, other: Array, axes: Sequence[int], how: Callable[[Array, Array], Array]) -> Array:
    """What one output gathers is a row; where that is not known, rows are."""
    along = planes.along(own, axes)
    return planes.put_back(how(planes.laid_out(own, along), planes.laid_out(other, along)), own, along)


def _answers(base: Yardstick, exact: list[Array]) -> bool:
    """Whether some row moved by PROBE_ANSWER times what it may be wrong."""
    for expected, r in zip(base.outputs, exact, strict=True):
        if not np.isfinite(r).all():
            return False
        for use in limits.compare(expected, r, 1.0, own=True):
            if use.limit.startswith(("rows", "tile", "all elements")) and use.share >= PROBE_ANSWER:
                return True
    return False


def _disturb(
    drawn: dict[str, Any], argument: Record, edge: bool, rng: np.random.Generator
) -> tuple[dict[str, Any], Record]:
    """One element set to its row's maximum and five standard deviations more, at an edge or anywhere."""
    name = str(argument["name"])
    array = np.array(drawn[name])
    rows = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    row = _position(len(rows), edge, rng)
    column = _position(rows.shape[1], edge, rng)
    numbers = rows[row].astype(np.float64)
    wanted = float(numbers.max() + 5 * max(float(numbers.std()), 1e-3))
    rows[row, column] = _within(argument, wanted, float(numbers[column]))
    probe = {"input": name, "index": row * rows.shape[1] + column, "value": float(rows[row, column])}
    return {**drawn, name: array}, probe


def _within(argument: Record, wanted: float, own: float) -> float:
    """What an element is set to; beyond the declared bounds, the end from which it is farther away."""
    low, high = argument.get("low"), argument.get("high")
    if argument.get("domain") in ("unit", "probability"):
        return min(wanted, 1.0)
    if high is None or wanted <= high:
        return wanted
    return float(high if low is None or high - own >= own - low else low)


def _position(length: int, edge: bool, rng: np.random.Generator) -> int:
    places = [*EDGES, length // 2 - 1, length // 2, length // 2 + 1, length - 2, length - 1]
    inside = [place for place in places if 0 <= place < length]
    return int(rng.choice(inside)) if edge else int(rng.integers(length))


def _marks(argument: Record) -> Sequence[float]:
    """Twice each, beside the ends between which integers lie."""
    marks: list[float] = list(argument.get("marks") or ())
    if argument.get("low") is None or argument.get("high") is None:
        return marks
    return [*marks, *marks, float(argument["low"]), float(argument["high"])]


def _scalar(argument: Record) -> Any:
    return int(argument["value"]) if argument["dtype"] == "int" else float(argument["value"])


def _storable(array: Array) -> Array:
    """NumPy's files know no ml_dtypes: those are stored as the bits they are."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" or "float8" in array.dtype.name else array
