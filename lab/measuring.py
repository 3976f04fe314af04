"""Measures the cases of a shape set in the reference's process: draw, run honestly, keep what kernels are judged by."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from nki_anvil.backends.worker.arguments import inside
from nki_anvil.backends.worker.inputs import (
    DRAWN,
    PARTIAL,
    PRESSED,
    RETURNED,
    TIED,
    digest,
    draw,
    is_met,
    is_rough,
)
from nki_anvil.backends.worker.places import EDGES
from nki_anvil.lab import limits, yardstick, yardstick_file
from nki_anvil.lab.arithmetic import is_array
from nki_anvil.lab.bending import Bending
from nki_anvil.lab.honest_runs import HonestRuns
from nki_anvil.lab.lesser_references import LesserReferences
from nki_anvil.lab.reference_module import ReferenceModule
from nki_anvil.lab.sides import Sides, joined
from nki_anvil.lab.yardstick import Yardstick
from nki_anvil.sim.dtypes import numpy_dtype

Array = np.ndarray[Any, Any]
Record = dict[str, Any]

HALVINGS: Final = 12
"""Each with a seed of its own: what no magnitude changes, another draw may."""
TOLD: Final = {"float32": 2e-5}
"""How far off a row has to be for limits of this precision to tell it surely: the tolerance of all of an output."""
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
        self.runs = HonestRuns(
            module, request["dtypes"], request["precision"], request["noise"], request["lots"], arguments=self.arguments
        )
        self.sides: Sides = {}
        """What conditions came to in cases that are judged."""
        self.lessers = LesserReferences(module, TOLD.get(self.runs.precision, np.inf))
        self.bending = Bending(module, self.arguments, self.runs, self.lessers, self._own)
        self._known: tuple[int, dict[str, Any], Yardstick] | None = None
        """A large own draw with its seed: probes disturb it rather than each a draw of its own."""

    def measure(self, case: Record) -> Record:
        """Find the scale at which the case is admissible, and keep its yardstick; for a probe, find a place first."""
        if case.get("probe"):
            return self._probe(case)
        own = case["family"] == "own"
        family = case["family"].partition("/")[0]
        partial, tied = family in PARTIAL, family in TIED
        turns = 1 if own else REDRAWN if is_met(family) or family == "masked" else case.get("halvings") or HALVINGS
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
            drawn = self._by_get_inputs(case)
            told = {a["name"]: _scalar(a) for a in self.arguments if a["shape"] is None}
            return self.bending.in_order({name: self._cast(name, item) for name, item in drawn.items()}) | told
        if case["family"] == DRAWN:
            return self._drawn(case)
        if case["family"] in (RETURNED, PRESSED):
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
        drawn = self._own(case)
        constants = {a["name"]: drawn[a["name"]] for a in self.arguments if a.get("domain") == "constant"}
        return self.bending.bent(case, drawn) | constants

    def _drawn(self, case: Record) -> dict[str, Any]:
        """What get_inputs draws where the problem declares what inputs are, within that: an own draw is of any kind.

        Where it draws other shapes than are declared, it draws none of these, and an own draw stands for it.
        """
        found, own = self._by_get_inputs(case), self._own(case)
        varied = {a["name"]: a for a in self.arguments if a["shape"] is not None and a.get("domain") != "constant"}
        if any(np.shape(found[name]) != np.shape(own[name]) for name in varied):
            return own
        drawn = {name: self._cast(name, inside(argument, np.asarray(found[name]))) for name, argument in varied.items()}
        return self.bending.in_order(own | drawn)

    def _by_get_inputs(self, case: Record) -> dict[str, Any]:
        return dict(zip([a["name"] for a in self.arguments], self.module.get_inputs(case["seed"]), strict=True))

    def _own(self, case: Record) -> dict[str, Any]:
        return self.draw({**case, "family": "own"})

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


def _scalar(argument: Record) -> Any:
    return int(argument["value"]) if argument["dtype"] == "int" else float(argument["value"])


def _storable(array: Array) -> Array:
    """NumPy's files know no ml_dtypes: those are stored as the bits they are."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" or "float8" in array.dtype.name else array
