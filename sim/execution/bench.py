"""The state that instructions share while a program runs: registers, accumulators, random state, counts, findings.

It must not know any single instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.choices import Choices
from nki_anvil.sim.execution.errors import ExecutionError
from nki_anvil.sim.execution.formats import Formats
from nki_anvil.sim.execution.lots import Lots
from nki_anvil.sim.program import NONE
from nki_anvil.sim.rules.finding import Finding

Step: TypeAlias = Callable[[], Any]

LANES: Final = 128
ACCUMULATING: Final = ("vector", "scalar")


class Registers(dict[int, int]):
    """What registers hold; one that nothing has set holds nobody knows what, and is not read."""

    def read(self, register: int, line: int) -> int:
        """A register's value for an instruction of a line; raises ExecutionError where it has none."""
        value = self.get(register)
        if value is None:
            message = "a register is read that nothing was written to; pass register_alloc a value, or load one first"
            raise ExecutionError("SIM-REGISTER-UNSET", message, line)
        return value


class Bench:
    """One run's machine state; ``reset`` begins a run."""

    def __init__(self, regions: int, cores: int, formats: Formats, choices: Choices | None = None) -> None:
        self.formats, self.choices = formats, choices
        self.registers = Registers()
        self.trips: list[int] = [0] * regions
        self.accumulators = {
            (core, engine): np.full(LANES, np.nan, formats.working) for core in range(cores) for engine in ACCUMULATING
        }
        self.settled = {place: np.zeros(LANES, np.bool_) for place in self.accumulators}
        """Which of them something has set in this run."""
        self.core = 0
        """Which core runs."""
        self.generators = [np.random.default_rng(0)] * cores
        self.steps_left = 0
        self.lots = Lots()
        self.printed: list[str] = []
        self._findings: dict[tuple[str, int], Finding] = {}
        self._scratch: dict[int, NDArray[np.uint8]] = {}
        self._outgrown: list[NDArray[np.uint8]] = []
        """Work arrays of instructions that were made ready before a larger one was asked for."""

    def reset(self, lots: Lots, steps: int, again: bool = False) -> None:
        """Forget the last run."""
        self.registers.clear()
        self.trips[:] = [0] * len(self.trips)
        for place, lanes in self.accumulators.items():
            lanes.fill(np.nan)
            self.settled[place].fill(False)
        self.core = 0
        self.generators = [np.random.default_rng([core, int(again)]) for core in range(len(self.generators))]
        self.steps_left = steps
        self.lots = lots
        if self.choices is not None:
            self.choices.rewind()
        self.printed.clear()
        self._findings.clear()
        for work in (*self._scratch.values(), *self._outgrown):
            work.fill(0)

    def turn(self, region: int) -> int:
        """How often a loop's body has begun: what runs in it again is not what ran there before."""
        return 0 if region == NONE else self.trips[region]

    def report(self, finding: Finding) -> None:
        """Count a finding, one per code and line."""
        known = self._findings.get((finding.code, finding.line))
        count = finding.count + (known.count if known else 0)
        first = known or finding
        self._findings[finding.code, finding.line] = Finding(
            first.code, first.severity, first.message, first.line, first.remedy, count
        )

    def report_all(self, findings: Iterable[Finding]) -> None:
        """Keep several."""
        for finding in findings:
            self.report(finding)

    def findings(self) -> list[Finding]:
        return [self._findings[key] for key in sorted(self._findings, key=lambda key: (key[1], key[0]))]

    def scratch(self, slot: int, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """A work array. Instructions share them, so nothing in one outlives its instruction; slots keep them apart."""
        wanted = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * wanted.itemsize
        buffer = self._scratch.get(slot)
        if buffer is None or buffer.nbytes < size:
            self._outgrown += [] if buffer is None else [buffer]
            buffer = np.zeros(max(64, 1 << (size - 1).bit_length() if size else 64), np.uint8)
            self._scratch[slot] = buffer
        return buffer[:size].view(wanted).reshape(shape)
