"""Cycles and FLOPs of the tensor engine: matmuls and transposes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.layout import Layout
from nki_anvil.sim.costs.rates import Rates
from nki_anvil.sim.costs.work import Work
from nki_anvil.sim.dtypes import NAMES as DTYPES
from nki_anvil.sim.instructions import ENGINES, NAMES
from nki_anvil.sim.program import NONE, Program

TENSOR: Final = ENGINES.index("tensor")
MATMUL: Final = NAMES.index("nc_matmul")
TRANSPOSE: Final = NAMES.index("nc_transpose")
FP32: Final = DTYPES.index("float32")
COUNTED_PASSES: Final = 2
"""Passes of an fp32 matmul as the profiler counts them (recorded counters)."""


@dataclass(frozen=True, slots=True)
class Matmuls:
    """Every matmul and tensor-engine transpose: ``rows`` of the program, and the K, M, N that each really has."""

    rows: NDArray[np.int64]
    k: NDArray[np.int64]
    m: NDArray[np.int64]
    n: NDArray[np.int64]
    fp32: NDArray[np.bool_]
    transpose: NDArray[np.bool_]
    double: NDArray[np.bool_]
    itemsize: NDArray[np.int64]
    hinted: NDArray[np.bool_]
    """An operand holds nothing but zeros and ones, as the kernel promises."""
    resident: NDArray[np.bool_]
    """The stationary operand is the one that the previous instruction loaded."""

    @property
    def flops(self) -> NDArray[np.float64]:
        """As the profiler counts them: two passes in fp32 (recorded counters)."""
        passes = np.where(self.fp32, COUNTED_PASSES, 1)
        return 2.0 * passes * self.k * self.m * self.n


def matmuls(program: Program, columns: Layout) -> Matmuls:
    """Find them; an unwanted slot of a malformed program counts as one element."""
    table = program.tables["instructions"]
    rows = np.flatnonzero((table["engine"] == TENSOR) & np.isin(table["opcode"], [MATMUL, TRANSPOSE]))
    mirror = table["opcode"][rows] == TRANSPOSE
    stationary, moving = columns.slot(rows, 1), columns.slot(rows, 2)
    moving = np.where(mirror, stationary, moving)
    flags = np.array([_flags(record) for record in program.attributes], bool).reshape(-1, 3)
    number = table["attributes"][rows]
    given = np.where((number != NONE)[:, None], flags[number], False) if len(flags) else np.zeros((len(rows), 3), bool)
    double = given[:, 1]
    free_m, free_n = columns.free[stationary], columns.free[moving]
    return Matmuls(
        rows=rows,
        k=columns.partitions[stationary] * np.where(double, 2, 1),
        m=np.where(mirror, free_m, free_m // np.where(double, 2, 1)),
        n=np.where(mirror, columns.partitions[moving], free_n // np.where(double, 2, 1)),
        fp32=(columns.dtype[stationary] == FP32) | (columns.dtype[moving] == FP32),
        transpose=mirror | given[:, 0],
        double=double,
        itemsize=columns.itemsize[moving],
        hinted=given[:, 2],
        resident=_resident(columns, stationary),
    )


def _flags(attributes: dict[str, object]) -> tuple[bool, bool, bool]:
    hinted = bool(attributes.get("is_stationary_onezero") or attributes.get("is_moving_onezero"))
    return bool(attributes.get("is_transpose")), attributes.get("perf_mode") == "double_row", hinted


def fill(work: Work, found: Matmuls, chip: Chip, rates: Rates) -> None:
    """Write the rows of the tensor engine (architecture guide, instruction pages)."""
    clock, rows = chip.clocks_ghz["tensor"], found.rows
    several = np.where(found.hinted, rates.onezero_passes_fp32, rates.matmul_passes_fp32)
    passes = np.where(found.fp32, np.where(found.transpose, rates.transpose_passes_fp32, several), 1)
    streaming = np.maximum(found.n, rates.minimum_cycles) * passes
    loading = np.where(found.fp32, found.m * passes, found.m / rates.fast_weight_load)
    loading = np.where(found.resident, 0, loading)
    slow = 1 / _array_clock(found, chip, rates)
    cycles = np.maximum(streaming, loading) * slow
    work.occupancy[rows] = cycles / clock + rates.issue_ns["tensor"]
    work.latency[rows] = rates.latency_ns["tensor"]
    work.best[rows] = found.n * np.where(found.fp32, passes, 1) / clock
    _blame(work, found, streaming * slow / clock, cycles / clock, passes, chip, rates)


def _resident(columns: Layout, stationary: NDArray[np.int64]) -> NDArray[np.bool_]:
    tile = np.stack([columns.tensor, columns.start, columns.elements, columns.run], axis=1)[stationary]
    return np.append(np.zeros(1, bool), np.all(tile[1:] == tile[:-1], axis=1))[: len(stationary)]


def _array_clock(found: Matmuls, chip: Chip, rates: Rates) -> NDArray[np.float64]:
    """The share of its clock that the activity manager leaves to a partly used array (array micro-benchmark)."""
    use = np.minimum(found.k, chip.partitions) * np.minimum(found.m, chip.partitions) / chip.partitions**2
    share = np.minimum(use / rates.array_use_full, 1)
    return np.where(found.transpose, 1, rates.clock_cold + (1 - rates.clock_cold) * share)


def _blame(
    work: Work,
    found: Matmuls,
    streaming: NDArray[np.float64],
    total: NDArray[np.float64],
    passes: NDArray[np.float64],
    chip: Chip,
    rates: Rates,
) -> None:
    rows, useful = found.rows, ~found.transpose
    work.blame("transposes", rows, np.where(found.transpose, work.occupancy[rows], 0))
    work.blame("fp32_passes", rows, np.where(useful, total * (1 - 1 / passes), 0))
    rest = np.where(useful, total / passes, 0)
    floor = np.maximum(rates.minimum_cycles - found.n, 0) / chip.clocks_ghz["tensor"]
    work.blame("small_instructions", rows, np.where(useful, floor, 0))
    rate = np.where(useful & ~found.fp32 & (found.itemsize == 2), (rest - floor) / 2, 0)
    work.blame("matmul_rate", rows, rate * (found.k >= chip.partitions) * (found.m >= chip.partitions))
    work.blame("weight_loads", rows, np.where(useful, total - streaming, 0) / passes)
    empty_rows = 1 - np.minimum(found.k, chip.partitions) / chip.partitions
    empty_columns = np.where(found.n > found.m, 1 - np.minimum(found.m, chip.partitions) / chip.partitions, 0)
    work.blame("underfilled_array", rows, (rest - floor) * empty_rows)
    work.blame("short_stationary", rows, (rest - floor) * (1 - empty_rows) * empty_columns)
