"""What the gates judge by, and what a gate says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from nki_anvil.backends.job import Case
from nki_anvil.backends.run import CaseResult, Run, Trace
from nki_anvil.lab.heat import Heat
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import Where
from nki_anvil.lab.yardstick import Yardstick


@dataclass(frozen=True, slots=True)
class Judgement:
    """One gate's answer. ``passed`` is None where it does not apply or is not available; ``detail`` says which."""

    passed: bool | None
    detail: str
    code: str = ""
    line: int | None = None
    hint: str = ""
    where: Where | None = None
    heat: Heat | None = None
    worst_error: float | None = None
    limit_use: float | None = None
    warnings: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    """What the kernel does that shows in no case."""


@dataclass(frozen=True, slots=True)
class Observed:
    """One case: what came back, and what it is judged by."""

    case: Case
    result: CaseResult
    yardstick: Yardstick
    others: tuple[tuple[NDArray[Any], ...], ...] = ()
    """Its outputs in float64 where the kernel's constants are off by a rounding, each time otherwise; asked for where
    these might excuse what it is off by there."""
    compared: dict[float, Any] = field(default_factory=dict[float, Any], init=False, compare=False, repr=False)
    """By the problem's tolerance, its worst deviation, once somebody asked."""

    @property
    def own(self) -> bool:
        return self.case.family == "own"


@dataclass(frozen=True, slots=True)
class Repeat:
    """One case again: with other poison in fresh memory, or just again."""

    first: CaseResult
    second: CaseResult


@dataclass(frozen=True, slots=True)
class Turned:
    """One case, and what came back where loops without an order ran in another one."""

    observed: Observed
    order: str
    result: CaseResult


@dataclass(frozen=True, slots=True)
class Evidence:
    """One run of one kernel. A case that the backend left out has a result that says so: a failure of the kernel's."""

    specification: Specification
    run: Run
    observed: tuple[Observed, ...]
    poisoned: tuple[Repeat, ...] = ()
    again: tuple[Repeat, ...] = ()
    turned: tuple[Turned, ...] = ()
    """Of shape sets whose program has such loops."""

    def traces(self) -> Iterator[Trace]:
        yield from self.run.traces

    def unknown(self) -> str:
        """What the simulator does not know of the kernel; empty where it has traced it all."""
        return next((trace.unknown for trace in self.run.traces if trace.unknown), "")

    def timed_trace(self) -> Trace | None:
        return next((trace for trace in self.run.traces if trace.shapes == self.specification.timed), None)
