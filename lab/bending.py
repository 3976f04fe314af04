"""Own draws bent by what the reference does with them: aimed at what inputs meet in it, or searched in runs of it.

Formulas know nothing of a reference; these families are drawn in its process, and from what it computes alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nki_anvil.backends.worker import normed, planes
from nki_anvil.backends.worker.arguments import in_order, inside
from nki_anvil.backends.worker.inputs import (
    AGAINST,
    AIMED,
    ALTERED,
    ASTRIDE,
    DOMINO,
    EVEN,
    LESSER,
    MOVED,
    RECALLED,
    RESIDUE,
    SUMMIT,
    TALL,
    TOGETHER,
    TRAINED,
    VANISHING,
    VERGE,
)
from nki_anvil.backends.worker.relations import TIMES, against, level
from nki_anvil.lab import (
    aiming,
    altered,
    astride,
    dominoes,
    emptying,
    gradients,
    held_numbers,
    recalled,
    residues,
    summits,
    telling_apart,
    trained,
    units,
    vanishing,
    verges,
)
from nki_anvil.lab.arithmetic import is_array
from nki_anvil.lab.honest_runs import HonestRuns, is_float
from nki_anvil.lab.lesser_references import LesserReferences
from nki_anvil.lab.meeting import WEIGHED, Event
from nki_anvil.lab.reference_module import ReferenceFault, ReferenceModule
from nki_anvil.lab.searched_reference import Reference

Array = np.ndarray[Any, Any]
Inputs = dict[str, Any]
"""The reference's arguments by name, scalars among them."""
Record = dict[str, Any]


class Bending:
    """For one shape set; ``own`` makes an own draw of a case's seed."""

    def __init__(
        self,
        module: ReferenceModule,
        arguments: Sequence[Record],
        runs: HonestRuns,
        lessers: LesserReferences,
        own: Callable[[Record], Inputs],
    ) -> None:
        self._module, self._arguments, self._runs, self._lessers, self._own = module, arguments, runs, lessers, own
        self._held: held_numbers.Held | None = None

    def bent(self, case: Record, drawn: Inputs) -> Inputs:
        """What is made of an own draw; what is put together of rows is brought into its order again."""
        return self.in_order(self._bent(case, drawn))

    def in_order(self, given: Inputs) -> Inputs:
        """The same, of which what is declared to ascend, or to be a permutation, does so and is one."""
        orders = {a["name"]: a for a in self._arguments if a.get("order")}
        return given | {
            name: in_order(orders[name], item).astype(item.dtype) for name, item in given.items() if name in orders
        }

    def _bent(self, case: Record, drawn: Inputs) -> Inputs:
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
            return drawn | self._cast_all(drawn, aiming.aimed(self._runs, drawn, name, which, random))
        if family == MOVED:
            return drawn | self._cast_all(drawn, aiming.moved(self._runs, drawn, name, int(which), random))
        if family == RESIDUE:
            return drawn | self._cast_all(drawn, self._residue(drawn, name, int(which), random))
        gathered: dict[str, Sequence[int]] = case.get("gathered") or {}
        axes = gathered.get(name, ())
        meeting = self._runs.meeting(list(drawn.values()), list(drawn).index(name))
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

    def _led_on(self, family: str, which: str, drawn: Inputs, other: Inputs, random: Any) -> Inputs:
        """To where outputs are as large as they become, or nearly to where they are no numbers any more."""
        if family == SUMMIT:
            known = [a for a in self._arguments if None not in (a.get("low"), a.get("high"))]
            bounds = {str(a["name"]): (float(a["low"]), float(a["high"])) for a in known}
            return summits.searched(self.searching(), drawn, other, int(which), random, bounds)
        return verges.searched(self.searching(), drawn, other, which, random)

    def residues(self, drawn: Inputs, name: str) -> list[Inputs]:
        """What is nearest to an input of what a sum leaves nothing of, for several sums: beside the others as they are,
        or else as orthonormal matrices."""
        orthonormal = self._cast_all(drawn, self._orthonormal(drawn, name))
        for beside in ({}, orthonormal) if orthonormal else ({},):
            given = drawn | beside
            if found := self._runs.residues(list(given.values()), list(given).index(name)):
                return [beside | {name: one} for one in found]
        return []

    def _orthonormal(self, drawn: Inputs, name: str) -> Inputs:
        floats = {other: item for other, item in drawn.items() if other != name and is_float(item)}
        return {
            other: normed.orthonormal(item)
            for other, item in floats.items()
            if item.ndim > 1 and min(item.shape[-2:]) > 1
        }

    def _residue(self, drawn: Inputs, name: str, number: int, random: Any) -> Inputs:
        """Rows of which a sum leaves little; as drawn where other draws have fewer such sums."""
        found = self.residues(drawn, name)
        if number >= len(found):
            return {}
        return found[number] | {name: residues.nearly(drawn[name], found[number][name], random)}

    def _of_all(self, family: str, which: str, drawn: Inputs, case: Record) -> Inputs | None:
        """What is found for all inputs together; None of a family that is of one."""
        random = np.random.default_rng(int(case["seed"]))
        if family == DOMINO:
            return drawn | dominoes.searched(self.searching(), drawn, self._another(case), random, int(which))
        if family == LESSER:
            return drawn | self._told_apart(drawn, case, int(which), random)
        if family == ALTERED:
            return drawn | self._altered(drawn, case, int(which), random)
        if family == RECALLED:
            return drawn | self._cast_all(
                drawn, recalled.laid(self.held(drawn, self._another(case)), drawn, random, which)
            )
        if family in (VANISHING, TRAINED) or (family == RESIDUE and which == TOGETHER):
            return drawn | self._cast_all(drawn, self._descended(case["family"].split("/"), drawn, case, random))
        if family in (SUMMIT, VERGE):
            return drawn | self._led_on(family, which, drawn, self._another(case), random)
        if family == ASTRIDE:
            how = case["family"].split("/")[2:]
            scaled, weighed = self.mixes(drawn, how[0], int(case["seed"])) if how else self.scales(drawn)
            return scaled(astride.factor(scaled, weighed, int(which)))
        if which == TOGETHER:
            return self._all_against(drawn, random)
        if which == "lifted":
            return drawn | self._cast_all(drawn, aiming.lifted(self._runs, drawn, random))
        return None

    def _descended(self, told: Sequence[str], drawn: Inputs, case: Record, random: Any) -> Inputs:
        """From which little of a number is left, or of a sum of several; nothing where there is no way."""
        number = int(told[-1])
        if told[0] == TRAINED:
            return self._trained(drawn, number, random)
        run, other = self.descending(), self._another(case)
        with contextlib.suppress(ReferenceFault):  # it may not take what lies on the way
            if told[0] == VANISHING:
                return vanishing.searched(run, drawn, other, number, random)
            return emptying.searched(run, drawn, other, number, random, counts=self.takes_floats)
        return {}

    def _trained(self, drawn: Inputs, turn: int, random: Any) -> Inputs:
        """All floats where a descent along gradients has come; nothing where there is no way."""
        with contextlib.suppress(ReferenceFault, gradients.NoGradient):
            return trained.searched(self.slope(drawn), self.floats(drawn), turn, random)
        return {}

    def floats(self, drawn: Inputs) -> dict[str, Array]:
        """In float64, those of a draw that are no constants of the problem."""
        free = [a["name"] for a in self._arguments if a.get("domain") != "constant"]
        return {name: drawn[name].astype(np.float64) for name in free if is_float(drawn[name])}

    def slope(self, drawn: Inputs) -> trained.Slope:
        """The reference for a descent along gradients, within the domains."""
        known, forward = {a["name"]: a for a in self._arguments}, self._module.differentiable

        def outputs(floats: dict[str, Array]) -> list[Array]:
            return self._runs.exact(list({**drawn, **floats}.values()))[0]

        def gradient(number: Callable[[Sequence[Any]], Any], floats: dict[str, Array]) -> dict[str, Array]:
            return gradients.gradient(forward, drawn, number, floats)

        def within(floats: dict[str, Array]) -> dict[str, Array]:
            return {name: inside(known[name], item).astype(np.float64) for name, item in floats.items()}

        return trained.Slope(outputs, gradient, within, gradients.logarithm)

    def emptied(self, drawn: Inputs, other: Inputs) -> list[int]:
        """Which sums come to nothing as a whole."""
        return emptying.sums(self.descending(), drawn, other, counts=self.takes_floats)

    @property
    def takes_floats(self) -> bool:
        """Whether its author's loops end on numbers between whole ones, too."""
        return not self._module.may_go_on

    def _another(self, case: Record) -> Inputs:
        """A second own draw of the same case."""
        return self._own({**case, "seed": int(case["seed"]) ^ 1})

    def _altered(self, drawn: Inputs, case: Record, turn: int, random: Any) -> Inputs:
        """In every second turn what the reference holds is laid into rows first; in every second two it is narrowed."""
        other = self._another(case)
        for begun in (*([self._recalled(drawn, other, random)] if turn % 2 else []), drawn):
            with contextlib.suppress(ReferenceFault):  # it may not take rows that hold such
                narrowed = turn // 2 % 2 == 1
                return altered.altered(self.searching(), begun, other, self.marks(), random, narrowed=narrowed)
        return drawn

    def _recalled(self, drawn: Inputs, other: Inputs, random: Any) -> Inputs:
        return drawn | self._cast_all(drawn, recalled.in_any_way(self.held(drawn, other), drawn, random))

    def marks(self) -> dict[str, Sequence[float]]:
        return {a["name"]: _marks(a) for a in self._arguments}

    def _told_apart(self, drawn: Inputs, case: Record, number: int, random: Any) -> Inputs:
        """Rows that tell the reference from it without one thing; as drawn where none is found. They are sought from
        own draws, then from rows that hold what the reference holds."""
        without = self._lessers.without(number)
        other = self._another(case)
        if without is None:
            return drawn
        holding = recalled.in_any_way(self.held(drawn, other), drawn, random)
        for begun in (drawn, *([drawn | self._cast_all(drawn, holding)] if holding else [])):
            with contextlib.suppress(ReferenceFault):
                walk = telling_apart.Walk(self.searching(), without, begun, other, random)
                found = walk.searched(self.marks())
                if walk.found.any():
                    return found
        return drawn

    def _all_against(self, drawn: Inputs, random: Any) -> Inputs:
        """Each input in turn nearly what makes its first sum come to nothing, in the same rows as near."""
        seed = int(random.integers(1 << 32))
        for position, (name, item) in enumerate(drawn.items()):
            if is_float(item) and item.size > 1:
                opposites = self._runs.meeting(list(drawn.values()), position).opposites[:1]
                for opposite in opposites:
                    bent = against(item, opposite, random, beside=np.random.default_rng(seed))
                    drawn = drawn | self._cast_all(drawn, {name: bent})
        return drawn

    def held(self, drawn: Inputs, other: Inputs) -> held_numbers.Held:
        """What the reference is written with, or computes with whatever it is given."""
        if self._held is None:
            runs = [self._runs.operands(list(given.values())) for given in (drawn, other)]
            self._held = held_numbers.held(self._module.held, held_numbers.unmoved(*runs))
        return self._held

    def scales(self, drawn: Inputs) -> tuple[astride.Scaled, astride.Weighed]:
        """Draws of which all free floats are so many times as large, and what few numbers made of them are. What is few
        numbers itself, a limit for instance, stays beside larger inputs."""
        free = list(self._times(drawn, 1.0))
        many = [name for name in free if drawn[name].size > WEIGHED] or free

        def scaled(factor: float) -> Inputs:
            times = self._times(drawn, factor)
            return drawn | self._cast_all(drawn, {name: times[name] for name in many})

        return scaled, lambda given: self._runs.weighed(list(given.values()))

    def mixes(self, drawn: Inputs, how: str, seed: int) -> tuple[astride.Scaled, astride.Weighed]:
        """The same of draws of which so many elements of all floats are others; which they are is the seed's."""
        floats = {name: item for name, item in drawn.items() if is_float(item) and item.size > WEIGHED}

        def scaled(factor: float) -> Inputs:
            random = np.random.default_rng(seed)
            return drawn | self._cast_all(drawn, astride.mixed(floats, how, factor, random) if floats else {})

        return scaled, self.scales(drawn)[1]

    def searching(self) -> Reference:
        """The reference for a search of inputs."""
        return Reference(
            lambda given: self._module.plain(list(given.values())),
            lambda given: given | self._cast_all(given, _arrays(given)),
        )

    def descending(self) -> units.Run:
        """The reference for a descent: in float64, within the domains."""

        def run(given: Inputs) -> tuple[list[Array], list[Event]]:
            known = {a["name"]: a for a in self._arguments}
            within = {name: inside(_as_amount(known[name]), a) if is_float(a) else a for name, a in given.items()}
            return self._runs.sums(list(within.values()))

        return run

    def _tall(self, drawn: Inputs, random: Any) -> dict[str, Array]:
        """All floats that have no bounds, as many times as large: what is added to a root is little beside a sum's
        terms then, also where these nearly cancel."""
        return self._times(drawn, 10.0 ** random.uniform(*TIMES))

    def _times(self, drawn: Inputs, factor: float) -> dict[str, Array]:
        """Floats without bounds, so many times as large."""
        free = [a["name"] for a in self._arguments if a.get("domain", "real") == "real" and a.get("high") is None]
        return {name: drawn[name].astype(np.float64) * factor for name in free if is_float(drawn[name])}

    def _cast_all(self, drawn: Inputs, bent: Inputs) -> Inputs:
        """Inputs within their domains, in their dtypes."""
        known = {a["name"]: a for a in self._arguments}
        return {name: inside(known[name], item).astype(drawn[name].dtype) for name, item in bent.items()}


def _as_amount(argument: Record) -> Record:
    """An input of integers that a descent moves as floats, within the same bounds."""
    return argument | {"domain": "real"} if "int" in argument["dtype"] else argument


def _arrays(drawn: dict[str, Any]) -> dict[str, Array]:
    return {name: item for name, item in drawn.items() if is_array(item)}


def _of_groups(own: Array, other: Array, axes: Sequence[int], how: Callable[[Array, Array], Array]) -> Array:
    """What one output gathers is a row; where that is not known, rows are."""
    along = planes.along(own, axes)
    return planes.put_back(how(planes.laid_out(own, along), planes.laid_out(other, along)), own, along)


def _marks(argument: Record) -> Sequence[float]:
    """Twice each, beside the ends between which integers lie."""
    marks: list[float] = list(argument.get("marks") or ())
    if argument.get("low") is None or argument.get("high") is None:
        return marks
    return [*marks, *marks, float(argument["low"]), float(argument["high"])]
