"""What came of running a program once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from nki_anvil.sim.rules.finding import Finding


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outputs in the order of the kernel's return value, each an array of its own."""

    outputs: Sequence[NDArray[Any]]
    inputs_after: Sequence[NDArray[Any]]
    """The inputs as the program left them: the given array itself where nothing wrote to it, else a copy."""
    written: tuple[int, ...]
    """Positions of the inputs to which some instruction writes, even where it leaves what was there."""
    findings: Sequence[Finding]
    """What only values can show: activation functions left their range, a non-finite index ..."""
    trips: tuple[int, ...]
    """How often the body of each dynamic loop ran in all, by region; what ``estimate(trips=...)`` takes."""
    printed: str = ""
    """What ``device_print`` wrote."""
