"""Whether anything hangs on a program's choices: each is made to go one way in cases in which it went the other.

What comes of that is sent back beside the cases' own outputs; others judge whether it would have passed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

LEANING: Final = ".leaning"
"""Between a case's key and the choice that goes one way."""
TRIES: Final = 24
"""Cases per choice and way whose outputs are sent back, one of each family of inputs."""
RUNS: Final = 96
"""Cases per choice and way that are run at most: in some, nothing of the output hangs on the choice."""
APART: Final = 1e-2
"""Relative L2 by which an own draw's output is off when nobody has to be asked whether that is wrong."""
CHOOSERS: Final = 1024
"""Of a program that are looked at."""
BYTES: Final = 1 << 22
"""Of a case's outputs, beyond which no choice is made to go one way: there only ways that no case takes are known."""
AT_LEAST_S: Final = 5.0
"""What all of this may take where the cases themselves take less; otherwise as long as these."""
WAYS: Final = (1, 2)

Run = Callable[[], Any]
Which = tuple[int, int]
"""A chooser's number, and a way."""


class Leaning:
    """The choices of one program, over the cases of one shape set."""

    def __init__(self, program: Any) -> None:
        from nki_anvil.sim.choosers import choosers
        from nki_anvil.sim.execution.choices import STAGES, Choices
        from nki_anvil.sim.execution.ways import BEGUN

        self.choices, self._begun = Choices(len(program)), BEGUN
        self._choosers = choosers(program)[:CHOOSERS]
        self._taken = [np.zeros(len(program), np.uint8) for _ in range(STAGES)]
        self._runs: Counter[Which] = Counter()
        self._sent: dict[Which, dict[str, str]] = {}
        """By family, the key of what was sent."""
        self._needed: set[Which] = set()
        self._seconds = 0.0
        self._tries = bool(self._choosers)

    def after(self, case: dict[str, Any], outputs: list[Any], seconds: float, run: Run) -> Iterator[tuple[str, Any]]:
        """Take note of a case that has run, and run it again with one choice after the other going one way.

        Yields a key and what came of it. ``seconds`` is what all of this took so far, the cases themselves included;
        ``run`` gives the outputs, or None where the kernel fails.
        """
        taken = [self.choices.taken(stage) for stage in range(len(self._taken))]
        for known, ways in zip(self._taken, taken, strict=True):
            known |= ways
        if sum(output.nbytes for output in outputs) > BYTES:
            self._tries = False
        for number, chooser in enumerate(self._choosers if self._tries else ()):
            seen = int(np.bitwise_or.reduce(taken[chooser.stage][list(chooser.instructions)]))
            for way in WAYS:
                if seen & _other(way) and self._asks((number, way), case["family"]):
                    yield from self._lean((number, way), case, outputs, run)
        self._tries = self._tries and self._seconds <= max(AT_LEAST_S, seconds / 2)

    def give_up(self) -> None:
        """Time is short: no further choice is made to go one way."""
        self._tries = False

    def _asks(self, which: Which, family: str) -> bool:
        sent = self._sent.get(which, {})
        return which not in self._needed and self._runs[which] < RUNS and len(sent) < TRIES and family not in sent

    def _lean(self, which: Which, case: dict[str, Any], outputs: list[Any], run: Run) -> Iterator[tuple[str, Any]]:
        self._runs[which] += 1
        others = self._forced(which, run)
        if others is None or (case["family"] == "own" and any(map(_are_apart, outputs, others))):
            self._needed.add(which)
        elif not all(map(_are_alike, outputs, others)):
            key = f"{case['key']}{LEANING}{which[0]}.{which[1]}"
            self._sent.setdefault(which, {})[case["family"]] = key
            yield key, others

    def _forced(self, which: Which, run: Run) -> Any:
        chooser, started = self._choosers[which[0]], time.monotonic()
        self.choices.force(chooser.instructions, chooser.stage, which[1])
        try:
            return run()
        finally:
            self.choices.release()
            self._seconds += time.monotonic() - started

    def told(self) -> list[dict[str, Any]]:
        """Every choice, either way, by line."""
        return [self._told((number, way)) for number in range(len(self._choosers)) for way in WAYS]

    def _told(self, which: Which) -> dict[str, Any]:
        number, way = which
        chooser = self._choosers[number]
        ways = self._taken[chooser.stage][list(chooser.instructions)]
        if chooser.standing:
            ways = np.array([self.choices.standing.ways(index) for index in chooser.instructions], np.uint8)
        ways = ways[(ways > 0) & (ways != self._begun)]
        return {
            "line": chooser.line or None,
            "op": chooser.op,
            "against": chooser.against,
            "standing": chooser.standing,
            "way": way,
            "met": len(ways) > 0,
            "taken": bool((ways & _other(way)).any()),
            "missed": int(((ways & _other(way)) == 0).sum()) if chooser.limit and self._tries else 0,
            "needed": which in self._needed,
            "tried": self._tries and self._runs[which] > 0,
            "keys": [*self._sent.get(which, {}).values()],
        }


def _other(way: int) -> int:
    return sum(WAYS) - way


def _are_alike(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one.astype(np.float64), other.astype(np.float64), equal_nan=True))


def _are_apart(one: Any, other: Any) -> bool:
    a, b = (np.asarray(array).astype(np.float64) for array in (one, other))
    return not float(np.linalg.norm(a - b)) <= APART * float(np.linalg.norm(a))
