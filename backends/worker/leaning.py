"""Whether anything hangs on a program's choices: each is made to go one way in cases in which it went the other.

What comes of that is sent back beside the cases' own outputs; others judge whether it would have passed. All places of
a choice are tried together, then limits place by place: where one is needed, another may not be.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, Optional

import numpy as np

from nki_anvil.sim.ways import BEGUN, BOTH, FIRST, SECOND, WEAKER

LEANING: Final = ".leaning"
"""Between a case's key and the number of what went one way in it."""
TRIES: Final = 24
"""Cases per choice and way whose outputs are sent back, one of each family of inputs."""
RUNS: Final = 96
"""Cases per choice and way that are run at most: in some, nothing of the output hangs on the choice."""
APART: Final = 1e-2
"""Relative L2 by which an own draw's output is off when nobody has to be asked whether that is wrong."""
CHOOSERS, PLACES = 512, 64
"""Of a program that are looked at, and places of each."""
BYTES: Final = 1 << 22
"""Of a case's outputs, beyond which no choice is made to go one way: there only ways that no case takes are known."""
BYTES_IN_ALL: Final = 1 << 28
"""Of all that is sent back of a shape set, far below what a job allows."""
AT_LEAST_S: Final = 5.0
"""What all of this may take where the cases themselves take less; otherwise as long as these."""
WAYS: Final = (FIRST, SECOND)

Run = Callable[[], Any]


class Which(NamedTuple):
    """A choice, and a way that it is made to go; ``place`` is one of its places, or None for all of them."""

    number: int
    way: int
    place: Any = None


class Leaning:
    """The choices of one program, over the cases of one shape set."""

    def __init__(self, program: Any) -> None:
        from nki_anvil.sim.choosers import choosers
        from nki_anvil.sim.execution.choices import Choices
        from nki_anvil.sim.steering import reaching

        self.choices = Choices()
        self._choosers = choosers(program)[:CHOOSERS]
        self._outputs = reaching(program, [one.instructions for one in self._choosers])
        self._of = {(i, one.stage): n for n, one in enumerate(self._choosers) for i in one.instructions}
        self._taken: list[dict[Any, int]] = [{} for _ in self._choosers]
        """By choice, which ways its places took."""
        self._runs: Counter[Which] = Counter()
        self._sent: dict[Which, dict[str, str]] = {}
        """By family, the key of what was sent."""
        self._needed: dict[Which, set[int]] = {}
        """Outputs that own draws show to be others."""
        self._keys, self._bytes, self._seconds = 0, 0, 0.0
        self._tries = bool(self._choosers)

    def after(self, case: dict[str, Any], outputs: list[Any], seconds: float, run: Run) -> Iterator[tuple[str, Any]]:
        """Take note of a case that has run, and run it again with one choice after the other going one way.

        Yields a key and what came of it. ``seconds`` is what all of this took so far, the cases themselves included;
        ``run`` gives the outputs, or None where the kernel fails.
        """
        taken = self._noted()
        if sum(output.nbytes for output in outputs) > BYTES:
            self._tries = False
        for which, places in self._to_try(taken):
            if self._tries and self._asks(which, case["family"]):
                yield from self._lean(which, places, case, outputs, run)
                self._tries = self._seconds <= max(AT_LEAST_S, seconds / 2) and self._bytes <= BYTES_IN_ALL

    def give_up(self) -> None:
        """Time is short: no further choice is made to go one way."""
        self._tries = False

    def _noted(self) -> list[dict[Any, int]]:
        """The ways that this case took."""
        found: list[dict[Any, int]] = [{} for _ in self._choosers]
        for place, ways in self.choices.taken.items():
            number = self._of.get((place.instruction, place.stage))
            if number is not None:
                found[number][place] = ways
                self._taken[number][place] = self._taken[number].get(place, 0) | ways
        return found

    def _to_try(self, taken: list[dict[Any, int]]) -> Iterator[tuple[Which, list[Any]]]:
        """What may go another way than it did in this case."""
        for number, ways in enumerate(taken):
            for way in WAYS:
                others = [place for place, seen in ways.items() if seen & _other(way)]
                if others:
                    yield Which(number, way), list(ways)
                if self._in_parts(Which(number, way)):
                    yield from ((Which(number, way, place), [place]) for place in others[:PLACES])
            if self._has_number(number) and any(seen & SECOND for seen in ways.values()):
                yield Which(number, WEAKER), list(ways)

    def _has_number(self, number: int) -> bool:
        """Whether it is a limit by a number that could be another one."""
        chooser = self._choosers[number]
        return chooser.op in ("maximum", "minimum") and bool(chooser.against)

    def _in_parts(self, which: Which) -> bool:
        """Whether the places of a limit are tried one by one: what no place needs together is told as it is."""
        some = len(self._taken[which.number]) > 1 and self._choosers[which.number].limit
        return some and (bool(self._needed.get(which)) or which in self._sent)

    def _asks(self, which: Which, family: str) -> bool:
        sent, outputs = self._sent.get(which, {}), self._outputs[which.number]
        decided = self._needed.get(which, set()).issuperset(outputs) or family in sent
        return not decided and self._runs[which] < RUNS and len(sent) < TRIES

    def _lean(
        self, which: Which, places: Iterable[Any], case: dict[str, Any], outputs: list[Any], run: Run
    ) -> Iterator[tuple[str, Any]]:
        self._runs[which] += 1
        others = self._forced(which, places, run)
        needed = self._needed.setdefault(which, set())
        if others is None:
            needed.update(range(len(outputs)))
        elif case["family"] == "own":
            pairs = enumerate(zip(outputs, others, strict=True))
            needed.update(position for position, (one, other) in pairs if _are_apart(one, other))
        open_still = not needed.issuperset(self._outputs[which.number])
        if others is not None and open_still and not all(map(_are_alike, outputs, others)):
            self._keys += 1
            self._bytes += sum(output.nbytes for output in others)
            key = f"{case['key']}{LEANING}{self._keys}"
            self._sent.setdefault(which, {})[case["family"]] = key
            yield key, others

    def _forced(self, which: Which, places: Iterable[Any], run: Run) -> Any:
        started = time.monotonic()
        self.choices.force(places, which.way)
        try:
            return run()
        finally:
            self.choices.release()
            self._seconds += time.monotonic() - started

    def told(self) -> list[dict[str, Any]]:
        """Every choice, either way, by line; of limits also those places that are not known to be needed."""
        every = [Which(number, way) for number in range(len(self._choosers)) for way in WAYS]
        found = [told for which in every for told in (self._told(which), *self._told_in_parts(which))]
        weaker = (Which(number, WEAKER) for number in range(len(self._choosers)) if self._has_number(number))
        return [*found, *map(self._told, weaker)]

    def _told(self, which: Which) -> dict[str, Any]:
        chooser, taken = self._choosers[which.number], self._taken[which.number]
        places = {which.place} if which.place is not None else set(taken)
        ways = [taken[place] for place in places]
        if chooser.standing:
            ways = [self.choices.standing.ways(index) for index in chooser.instructions]
        ways = [way for way in ways if way not in (0, BEGUN)]
        return {
            "line": chooser.line or None,
            "op": chooser.op,
            "against": chooser.against,
            "standing": chooser.standing,
            "way": which.way,
            "met": len(ways) > 0,
            "taken": any(way & (SECOND if which.way == WEAKER else _other(which.way)) for way in ways),
            "part": _part(which.place, chooser),
            "outputs": list(self._outputs[which.number]),
            "needed": sorted(self._needed.get(which, ())),
            "tried": self._tries and self._runs[which] > 0,
            "keys": [*self._sent.get(which, {}).values()],
        }

    def _told_in_parts(self, which: Which) -> Iterator[dict[str, Any]]:
        """But for turns of a loop that never take it beside others that do: so recurrences begin."""
        if not self._in_parts(which) or not self._tries:
            return
        places = list(self._taken[which.number])[:PLACES]
        narrow = {place.instruction for place in places if place.column}
        for place in places:
            told = self._told(which._replace(place=place))
            asked = told["met"] and (told["taken"] or place.instruction in narrow)
            if asked and not set(told["needed"]).issuperset(told["outputs"]):
                yield told


def _part(place: Optional[Any], chooser: Any) -> str:
    """Which of a line's places it is, in words."""
    instructions = chooser.instructions
    if place is None:
        return "its first element" if chooser.begins else ""
    nth = f"instruction {instructions.index(place.instruction) + 1} of {len(instructions)}"
    found = [nth] if len(instructions) > 1 else []
    found += ["in later turns" if place.later else "in its first turn"]
    return ", ".join([*found, f"column {place.column}"] if place.column else found)


def _other(way: int) -> int:
    return BOTH - way


def _are_alike(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one.astype(np.float64), other.astype(np.float64), equal_nan=True))


def _are_apart(one: Any, other: Any) -> bool:
    a, b = (np.asarray(array).astype(np.float64) for array in (one, other))
    return not float(np.linalg.norm(a - b)) <= APART * float(np.linalg.norm(a))
