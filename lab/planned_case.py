"""One case of a problem before it is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import laid, slopes, whole_numbers
from nki_anvil.backends.worker.inputs import FEW, FLAT, SLOPING


@dataclass(frozen=True, slots=True)
class Plan:
    """One case to be made: what it transforms, and the probe it carries, if it is one."""

    family: str = "own"
    only: str | None = None
    probe: dict[str, Any] | None = None


def drawn_shape(spec: InputSpec) -> tuple[int, ...]:
    """In which an input is drawn; the kernel's may be another."""
    return spec.drawn or spec.shape or ()


def is_many(spec: InputSpec) -> bool:
    """Whether an input of integers is more than a length or a position."""
    return prod(drawn_shape(spec)) > FEW


def range_of(spec: InputSpec) -> whole_numbers.Range:
    """What an input of integers may hold."""
    return whole_numbers.Range(int(spec.low or 0), int(spec.high or 1), tuple(map(int, spec.marks)), spec.steps)


def laid_pairs(
    inputs: Sequence[InputSpec], gathered: Mapping[str, Sequence[int]], kinds: int
) -> dict[tuple[int, int], int]:
    """Pairs of axes but for the last two that inputs have, and of how many cases each."""
    turns: dict[tuple[int, int], int] = {}
    for spec in inputs:
        shape = drawn_shape(spec)
        for pair in laid.pairs(shape, gathered.get(spec.name, ())):
            turns[pair] = max(turns.get(pair, 0), laid.pair_turns(shape, pair, kinds))
    return turns


def turning(inputs: Sequence[InputSpec], gathered: Mapping[str, Sequence[int]], most: int = laid.FLAT) -> Iterator[str]:
    """Variants in which columns turn, over the last two axes and over other pairs, in at most so many cases each."""
    planar = [shape for shape in map(drawn_shape, inputs) if len(shape) > 1 and min(shape[-2:]) > 1]
    turns = laid_pairs(inputs, gathered, laid.TURNING)
    if planar:
        turns[-2, -1] = max(laid.pair_turns(shape, (-2, -1), laid.TURNING) for shape in planar)
    for (one, other), count in turns.items():
        yield from (f"turning:{one},{other}/{turn}" for turn in range(min(count, most)))


def sloping(family: str, inputs: Sequence[InputSpec]) -> Iterator[Plan]:
    """Numbers that rise along ways through planes, and through rows that are planes, until each way was there."""
    for kind, flat in ((SLOPING, False), (FLAT, True)):
        turns = (slopes.turns(drawn_shape(spec), flat) for spec in inputs)
        yield from (Plan(f"{family}/{kind}/{turn}") for turn in range(max(turns, default=0)))
