"""Loops that float inputs steer: the chip runs them, but no set of cases tries every number of turns."""

from __future__ import annotations

from collections.abc import Iterator

from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation
from nki_anvil.sim.steering import steered


def _loops(reading: Reading) -> Iterator[Violation]:
    regions, rows = reading.program.tables["regions"], reading.program.tables["instructions"]
    for region in steered(reading.program):
        first = int(regions["first"][region])
        line = int(rows["line"][first]) if first < int(regions["last"][region]) else 0
        yield Violation(line, "How often the loop around this line runs depends on float inputs.")


RULES = (
    Rule("DATA-LOOP", "How often a loop runs depends on integer inputs at most (lengths, indices), not on float ones.",
         "warning", "Run it a fixed number of times; or, where floats decide by the nature of the problem, say"
         " data_loops = true in problem.toml.",
         "none of the chip's: verification cannot try every number of turns", _loops),
)  # fmt: skip
