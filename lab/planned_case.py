"""One case of a problem before it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import laid
from nki_anvil.backends.worker.inputs import FEW


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
