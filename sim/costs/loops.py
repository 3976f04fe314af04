"""Dynamic loops laid out as a sequence: enough iterations to see the steady state, and how many there really are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.program import NONE, REGION_KINDS, Program

Trips: TypeAlias = Sequence[int] | Mapping[str, int] | None

LAID_OUT: Final = 8
"""Iterations that are scheduled one by one to begin with; the rest is extrapolated from those in their middle."""
LEAST_LAID_OUT: Final = 4
"""Fewer show no steady state: a first, a last, and two from whose middle the others are extrapolated."""
FURTHER: Final = 2
"""How many times as many are laid out where those have not settled."""
MOST_LAID_OUT: Final = 96
"""No loop is laid out further: what has not settled by then is taken at its slowest."""
FORI: Final = REGION_KINDS.index("fori")


@dataclass(frozen=True, slots=True)
class Assumed:
    """How often a loop runs whose trip count is data: the ends of the range, and the headline."""

    low: int
    middle: int
    high: int


ASSUMED_TRIPS: Final = Assumed(low=1, middle=8, high=64)


@dataclass(slots=True)
class Iteration:
    """One laid-out iteration: positions [first, last) of the expanded program."""

    region: int
    first: int
    last: int


@dataclass(slots=True)
class Expansion:
    """The program with its loops laid out."""

    order: list[int] = field(default_factory=list[int])
    iterations: list[Iteration] = field(default_factory=list[Iteration])
    fresh: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """Tensors that are allocated anew before a position."""
    asked: dict[int, list[tuple[int, int]]] = field(default_factory=dict[int, list[tuple[int, int]]])
    """Pairs of a core and a register whose value decides, before a position, what the core does next."""

    def ask(self, core: int, registers: Sequence[int]) -> None:
        """Note that what comes next is for these registers to say."""
        for register in registers:
            self.asked.setdefault(len(self.order), []).append((core, register))


def trip_counts(program: Program, trips: Trips, assumed: int) -> NDArray[np.float64]:
    """Iterations of each region per iteration of its parent. ``trips`` holds totals over a whole run, by region."""
    regions = program.tables["regions"]
    count = len(regions["kind"])
    result = np.zeros(count)
    total = np.zeros(count)
    for region in range(count):
        parent = int(regions["parent"][region])
        around = total[parent] if parent != NONE else 1.0
        given = _given(trips, region)
        if given is not None:
            result[region] = given / around if around else 0.0
        else:
            result[region] = _static(program, region, assumed)
        total[region] = result[region] * around
    return result


def _given(trips: Trips, region: int) -> int | None:
    if trips is None:
        return None
    if isinstance(trips, Mapping):
        return trips.get(str(region))
    return int(trips[region]) if region < len(trips) else None


def is_static(program: Program, region: int) -> bool:
    """Whether a loop's bounds stand in the program."""
    row = program.tables["regions"]
    registers = (row["lower_register"][region], row["upper_register"][region])
    return bool(row["kind"][region] == FORI and all(register == NONE for register in registers))


def _static(program: Program, region: int, assumed: int) -> float:
    if not is_static(program, region):
        return float(assumed)
    row = program.tables["regions"]
    lower, upper, step = (int(row[column][region]) for column in ("lower", "upper", "step"))
    return float(max(0, -(-(upper - lower) // step))) if step else 0.0


def weights(program: Program, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often each instruction runs in all."""
    regions = program.tables["regions"]
    total = np.ones(len(counts) + 1)
    for region in range(len(counts)):
        parent = int(regions["parent"][region])
        total[region] = counts[region] * (total[parent] if parent != NONE else 1.0)
    return total[program.tables["instructions"]["region"].astype(np.int64)]  # NONE is the last entry, which is one


def few(counts: NDArray[np.float64]) -> list[int]:
    """Turns of each loop that are laid out to begin with."""
    return [min(LAID_OUT, int(np.ceil(count))) for count in counts]


def within(program: Program, turns: Sequence[int], most: int) -> list[int]:
    """The same with fewer turns of loops in each other, where they multiply: the outer ones first, as far as needed."""
    fewer = list(turns)
    for region in _nested(program):
        if weights(program, np.array(fewer, np.float64)).sum() <= most:
            break
        fewer[region] = min(LEAST_LAID_OUT, fewer[region])
    return fewer


def _nested(program: Program) -> list[int]:
    """Loops around or inside of others, the outermost first."""
    parents: list[int] = program.tables["regions"]["parent"].tolist()
    depths: list[int] = []
    for parent in parents:
        depths.append(depths[parent] + 1 if parent != NONE else 0)
    nested = [region for region, parent in enumerate(parents) if parent != NONE or region in parents]
    return sorted(nested, key=depths.__getitem__)


def more(turns: Sequence[int], counts: NDArray[np.float64], restless: Collection[int]) -> list[int]:
    """The same with further turns of some loops."""
    return [
        min(FURTHER * some, MOST_LAID_OUT, int(np.ceil(counts[region]))) if region in restless else some
        for region, some in enumerate(turns)
    ]


def expand(program: Program, turns: Sequence[int]) -> Expansion:
    """Lay each loop out for so many turns."""
    if not turns:
        return Expansion(order=list(range(len(program))))
    expansion = Expansion()
    local = _local_tensors(program)
    _lay_out(program, turns, NONE, 0, len(program), expansion, local)
    return expansion


def _local_tensors(program: Program) -> dict[int, list[int]]:
    local: dict[int, list[int]] = {}
    home = program.tables["tensors"]["region"]
    for tensor in np.flatnonzero(home != NONE).tolist():
        local.setdefault(int(home[tensor]), []).append(tensor)
    return local


def _lay_out(
    program: Program,
    turns: Sequence[int],
    parent: int,
    first: int,
    last: int,
    expansion: Expansion,
    local: dict[int, list[int]],
) -> None:
    regions = program.tables["regions"]
    position = first
    for region in np.flatnonzero(regions["parent"] == parent).tolist():
        begin, end = int(regions["first"][region]), int(regions["last"][region])
        if begin < first or end > last:
            continue
        expansion.order.extend(range(position, begin))
        core, bounds, condition = _asked(program, region)
        expansion.ask(core, bounds)
        for _ in range(turns[region]):
            expansion.ask(core, condition)
            start = len(expansion.order)
            expansion.fresh.setdefault(start, []).extend(local.get(region, ()))
            _lay_out(program, turns, region, begin, end, expansion, local)
            expansion.iterations.append(Iteration(region, start, len(expansion.order)))
        expansion.ask(core, condition)
        position = max(position, end)
    expansion.order.extend(range(position, last))


def _asked(program: Program, region: int) -> tuple[int, list[int], list[int]]:
    """A loop's core, the registers that bound it, and the one that is asked before every turn."""
    rows, first = program.tables["regions"], int(program.tables["regions"]["first"][region])
    if first >= int(rows["last"][region]):
        return 0, [], []
    core = int(program.tables["instructions"]["core"][first])
    if rows["kind"][region] != FORI:
        return core, [], [int(rows["register"][region])]
    bounds = [int(rows[name][region]) for name in ("lower_register", "upper_register")]
    return core, [bound for bound in bounds if bound != NONE], []
