"""Cycles of the vector, scalar and GpSimd engines: everything that streams elements along the free dimension."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.formulas import BY_OPERATOR, DEFAULT, FORMULAS, ITERATIVE, TABLE_SETS, Formula, Mode
from nki_anvil.sim.costs.layout import DISTANT, Layout
from nki_anvil.sim.costs.rates import Rates
from nki_anvil.sim.costs.residency import loads
from nki_anvil.sim.costs.transfers import TRANSFERS
from nki_anvil.sim.costs.work import Work
from nki_anvil.sim.dtypes import NAMES as DTYPES
from nki_anvil.sim.instructions import ENGINES, NAMES
from nki_anvil.sim.kinds import named
from nki_anvil.sim.program import NONE, Program

VECTOR: Final = ENGINES.index("vector")
SCALAR: Final = ENGINES.index("scalar")
GPSIMD: Final = ENGINES.index("gpsimd")
STREAMING: Final = (VECTOR, SCALAR, GPSIMD)
_STREAMS: Final = np.isin(np.arange(len(ENGINES)), STREAMING)
ACCUMULATOR_CYCLES: Final = 64
"""Reading an accumulator register (instruction pages)."""
SLOW: Final = 2.4
"""Cycles per element from which an operation is slow."""
_FAST: Final = np.array([name in ("bfloat16", "float16") for name in DTYPES])
"""Formats of the vector engine's performance modes; other short ones have none (Trainium2 architecture guide)."""
SMALL_CYCLES: Final = 256
"""Below this the fixed part of an instruction is worth a remark."""


def fill(work: Work, program: Program, columns: Layout, chip: Chip, rates: Rates, counts: NDArray[np.float64]) -> None:
    """Write the rows of instructions that run on a streaming engine; ``counts`` are the loops' trips."""
    opcode, engine = program.tables["instructions"]["opcode"], program.tables["instructions"]["engine"]
    streaming = _STREAMS[engine] & ~named(program, *TRANSFERS)
    iterative = _iterative(program)
    for unit in STREAMING:
        here = streaming & (engine == unit)
        codes: list[int] = np.flatnonzero(np.bincount(opcode[here])).tolist()
        for code in codes:
            formula = FORMULAS.get(NAMES[code], DEFAULT)
            for slow, priced in ((False, formula), (True, BY_OPERATOR.get(ENGINES[unit], formula))):
                rows = np.flatnonzero(here & (opcode == code) & (iterative == slow))
                if len(rows):
                    operands = Operands(columns, rows)
                    if NAMES[code] == "topk":
                        operands.free = _searched(program, rows) + columns.free[columns.slots[rows, 0]] / 4
                    _fill(work, NAMES[code], priced, unit, rows, operands, chip, rates)
    _accumulators(work, program, columns, chip)
    _tables(work, program, rates, counts)


def _iterative(program: Program) -> NDArray[np.bool_]:
    """Which instructions name an operator that takes several cycles per element."""
    named_so = [not ITERATIVE.isdisjoint(str(record.get(name)) for name in _OPERATORS) for record in program.attributes]
    return np.array([*named_so, False])[program.tables["instructions"]["attributes"]]


_OPERATORS: Final = ("op", "op0", "op1")


def _searched(program: Program, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Elements that each ``topk`` looks at: they lie over sixteen partitions."""
    attributes: list[int] = program.tables["instructions"]["attributes"][rows].tolist()
    return np.array([program.attributes[number].get("n") or 0 for number in attributes], np.float64)


def _fill(
    work: Work,
    name: str,
    formula: Formula,
    unit: int,
    rows: NDArray[np.int64],
    operands: Operands,
    chip: Chip,
    rates: Rates,
) -> None:
    clock = chip.clocks_ghz[ENGINES[unit]]
    if name == "reciprocal" and unit == SCALAR:
        formula = DEFAULT
    speed = operands.speed(formula.mode, rates) if unit == VECTOR else np.ones(len(rows))
    constant = formula.constant + (rates.gpsimd_constant_cycles if unit == GPSIMD else 0)
    streaming = np.maximum(formula.per_element, np.where(operands.distant, DISTANT, 0)) * operands.free / speed
    cycles = np.maximum(streaming, rates.minimum_cycles) + constant
    issue = rates.issue_ns[ENGINES[unit]]
    work.occupancy[rows] = cycles / clock + issue
    work.latency[rows] = rates.latency_ns[ENGINES[unit]]
    work.best[rows] = operands.free * min(formula.per_element, 1) / _fastest(operands, unit) / clock
    if formula.mode == "pair":
        doubt = rates.vector_pair_fp32_high / rates.vector_pair_fp32 - 1
        work.doubt[rows] = np.where(operands.slowed, streaming * doubt / clock, 0)
    per_element = rates.reciprocal_cycles if formula.mode == "reciprocal" and unit == VECTOR else formula.per_element
    _blame(work, rows, operands, streaming, cycles, per_element, clock, issue, chip)


def _fastest(operands: Operands, unit: int) -> NDArray[np.float64]:
    """Elements per cycle and lane that no mode exceeds; 512 per cycle for fp32 is in the table, unverified
    (architecture guide)."""
    return np.where(operands.sixteen, 4.0, 2.0) if unit == VECTOR else np.ones(len(operands.free))


def _blame(
    work: Work,
    rows: NDArray[np.int64],
    operands: Operands,
    streaming: NDArray[np.float64],
    cycles: NDArray[np.float64],
    per_element: float,
    clock: float,
    issue: float,
    chip: Chip,
) -> None:
    small = cycles < SMALL_CYCLES
    work.blame("small_instructions", rows, np.where(small, (cycles - streaming) / clock + issue, 0))
    work.blame("underfilled_partitions", rows, streaming / clock * (1 - operands.partitions / chip.partitions))
    if per_element >= SLOW:
        work.blame("slow_operations", rows, np.where(small, 0, streaming * (1 - 1 / per_element) / clock))
    work.blame("vector_precision", rows, np.where(operands.slowed, streaming * 0.5 / clock, 0))


class Operands:
    """What a group of equal instructions reads and writes, reduced to the quantities that formulas name."""

    def __init__(self, columns: Layout, rows: NDArray[np.int64]) -> None:
        slots = columns.slots[rows]
        there = slots != NONE
        free = np.where(there, columns.free[slots], 1)
        self.free = free.max(axis=1, initial=1).astype(np.float64)
        wide = there & (free == self.free[:, None])
        self.partitions = np.where(there & columns.on_chip[slots], columns.partitions[slots], 1).max(axis=1, initial=1)
        fast = _FAST[columns.dtype[slots]]
        self.sixteen: NDArray[np.bool_] = np.all(~wide | fast, axis=1)
        self.all_sixteen: NDArray[np.bool_] = np.all(~there | fast, axis=1)
        self.distant: NDArray[np.bool_] = np.any(there & columns.distant[slots], axis=1)
        self.psum: NDArray[np.bool_] = np.any(wide & columns.psum[slots], axis=1)
        self.contiguous: NDArray[np.bool_] = np.all(~wide | columns.contiguous[slots], axis=1)
        self.wide_inputs = wide[:, 1:].sum(axis=1)
        self.slowed = np.zeros(len(rows), bool)

    def speed(self, mode: Mode, rates: Rates) -> NDArray[np.float64]:
        """Elements per cycle and lane of the vector engine (architecture guide; instruction pages for the
        first generation)."""
        if mode == "copy" and rates.vector_perf_modes:
            self.slowed = ~self.sixteen & ~self.psum
            several = np.where(self.psum | ~self.contiguous, 2.0, 4.0)
            return np.where(self.sixteen, several, 1.0)
        if mode == "pair":
            return self._pair(rates)
        if mode == "reciprocal":
            return np.full(len(self.free), 1 / rates.reciprocal_cycles)
        if mode == "double":
            return np.where(self.all_sixteen, 2.0, 1.0)
        return np.ones(len(self.free))

    def _pair(self, rates: Rates) -> NDArray[np.float64]:
        slow = 1 / rates.vector_pair_fp32
        single = self.wide_inputs < 2
        self.slowed = ~self.sixteen & ~self.psum & ~single
        fast = 2.0 if rates.vector_perf_modes else 1.0
        return np.where(self.psum | single, 1.0, np.where(self.sixteen & self.contiguous, fast, slow))


def _accumulators(work: Work, program: Program, columns: Layout, chip: Chip) -> None:
    """An activation with a reduction reads the accumulator register at its end."""
    instructions = program.tables["instructions"]
    rows = np.flatnonzero(instructions["opcode"] == NAMES.index("activation"))
    result = columns.slot(rows, 1)
    work.occupancy[rows[result != NONE]] += ACCUMULATOR_CYCLES / chip.clocks_ghz["scalar"]


def _tables(work: Work, program: Program, rates: Rates, counts: NDArray[np.float64]) -> None:
    """Charge a table load wherever the set of activation functions changes; the first load precedes the
    kernel's data."""
    instructions = program.tables["instructions"]
    rows = np.flatnonzero(named(program, *_TABULATED))
    needed = [table_set(record) for record in program.attributes]
    attributes: list[int] = instructions["attributes"][rows].tolist()
    names = [needed[number] for number in attributes]
    rows = rows[np.array([bool(name) for name in names], bool)]
    sets = {name: number for number, name in enumerate(dict.fromkeys(names))}
    share = loads(program, rows, [sets[name] for name in names if name], counts, first_is_free=True)
    work.occupancy[rows] += share * rates.table_load_ns
    work.blame("activation_table_loads", rows, share * rates.table_load_ns)


_TABULATED: Final = ("activation", "activation_reduce")


def table_set(attributes: dict[str, object]) -> str:
    """The set of functions that an activation's operation belongs to; empty where no table is needed."""
    operation = str(attributes.get("op", ""))
    return TABLE_SETS.get(operation, operation)
