"""Numbers that are drawn by lot: a kernel that is wrong once in a million draws is never seen to be."""

from __future__ import annotations

from collections.abc import Iterator

from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation
from nki_anvil.sim.steering import DRAWS


def _draws(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*DRAWS):
        yield Violation(use.line, f"{use.name} draws lots.", use.count)


RULES = (
    Rule("DATA-LOT", "No instruction draws random numbers, from whatever seed.",
         "warning", "Take random numbers as an input; or, where the kernel is meant to draw lots, say"
         " stochastic = true in problem.toml.",
         "none of the chip's: verification cannot try every draw", _draws),
)  # fmt: skip
