"""Cycles and FLOPs of the tensor engine: matmuls and transposes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.layout import DISTANT, Layout, storage
from nki_anvil.sim.costs.rates import Rates
from nki_anvil.sim.costs.residency import loads
from nki_anvil.sim.costs.work import Work
from nki_anvil.sim.dtypes import NAMES as DTYPES
from nki_anvil.sim.instructions import ENGINES, NAMES
from nki_anvil.sim.kinds import dynamic, firsts, named, numbered, patterns
from nki_anvil.sim.operands import operands
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
    distant: NDArray[np.bool_]
    """The moving operand's neighbours lie far apart."""
    hinted: NDArray[np.bool_]
    """An operand holds nothing but zeros and ones, as the kernel promises."""
    loads: NDArray[np.float64]
    """The share of its runs before which the stationary operand has to be loaded."""

    @property
    def flops(self) -> NDArray[np.float64]:
        """As the profiler counts them: two passes in fp32 (recorded counters)."""
        passes = np.where(self.fp32, COUNTED_PASSES, 1)
        return 2.0 * passes * self.k * self.m * self.n


def matmuls(program: Program, columns: Layout, counts: NDArray[np.float64]) -> Matmuls:
    """Find them; an unwanted slot of a malformed program counts as one element. ``counts`` are the loops' trips."""
    table = program.tables["instructions"]
    rows = np.flatnonzero((table["engine"] == TENSOR) & named(program, "nc_matmul", "nc_transpose"))
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
        distant=columns.distant[moving],
        hinted=given[:, 2],
        loads=_loads(program, rows, stationary, given[:, :2], counts),
    )


def _flags(attributes: dict[str, object]) -> tuple[bool, bool, bool]:
    hinted = bool(attributes.get("is_stationary_onezero") or attributes.get("is_moving_onezero"))
    return bool(attributes.get("is_transpose")), attributes.get("perf_mode") == "double_row", hinted


def fill(work: Work, found: Matmuls, chip: Chip, rates: Rates) -> None:
    """Write the rows of the tensor engine (architecture guide, instruction pages)."""
    clock, rows = chip.clocks_ghz["tensor"], found.rows
    several = np.where(found.hinted, rates.onezero_passes_fp32, rates.matmul_passes_fp32)
    passes = np.where(found.fp32, np.where(found.transpose, rates.transpose_passes_fp32, several), 1)
    streaming = np.maximum(found.n, rates.minimum_cycles) * np.maximum(passes, np.where(found.distant, DISTANT, 1))
    loading = np.where(found.fp32, found.m * passes, found.m / rates.fast_weight_load)
    slow = 1 / _array_clock(found, chip, rates)
    cycles = (streaming + found.loads * np.maximum(loading - streaming, 0)) * slow
    work.occupancy[rows] = cycles / clock + rates.issue_ns["tensor"]
    work.latency[rows] = rates.latency_ns["tensor"]
    work.best[rows] = found.n * np.where(found.fp32, passes, 1) / clock
    _blame(work, found, streaming * slow / clock, cycles / clock, passes, chip, rates)


def _loads(
    program: Program,
    rows: NDArray[np.int64],
    stationary: NDArray[np.int64],
    modes: NDArray[np.bool_],
    counts: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The engine keeps an operand until the next instruction: the same view of the same data, in the same mode."""
    if not len(rows):
        return np.zeros(0)
    accesses, table = program.tables["accesses"], program.tables["instructions"]
    place = storage(program)[accesses["tensor"]]
    owner, every = place[stationary], operands(program)
    written = every.writes & np.isin(place[every.access], owner)
    writers = _Writers(place[every.access[written]], every.instruction[written], len(program))
    moving = dynamic(program)[stationary]
    seen = [accesses[name][stationary] for name in ("tensor", "dtype", "offset")]
    tiles = [str((record.get("tile_position"), record.get("tile_size"))) for record in program.attributes]
    tile = np.unique(np.array(tiles or [""]), return_inverse=True)[1].reshape(-1)[table["attributes"][rows]]
    unique = np.where(moving, np.arange(len(rows)), NONE)  # nobody knows where it lies
    columns = [*seen, patterns(program).of[stationary], *modes.T, tile, table["opcode"][rows], unique]
    wanted = numbered([*columns, writers.before(owner, rows)])
    first = np.array(firsts(wanted), np.int64)
    tensors, moves = owner[first].tolist(), moving[first].tolist()

    def lost(held: int, region: int) -> bool:
        return held >= 0 and (moves[held] or writers.within(tensors[held], region, program))

    return loads(program, rows, wanted.tolist(), counts, lost=lost)


class _Writers:
    """Where each tensor's storage is written: pairs of its number and an instruction, sorted."""

    def __init__(self, tensor: NDArray[np.int64], instruction: NDArray[np.int64], count: int) -> None:
        self._count = count + 1
        self._pairs = np.sort(tensor.astype(np.int64) * self._count + instruction)

    def before(self, tensor: NDArray[np.int64], instruction: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number that is the same for two instructions if no write to the tensor stands between them."""
        return np.searchsorted(self._pairs, tensor * self._count + instruction)

    def within(self, tensor: int, region: int, program: Program) -> bool:
        """Whether a loop's body writes a tensor."""
        bounds = (int(program.tables["regions"][name][region]) for name in ("first", "last"))
        first, last = np.searchsorted(self._pairs, [tensor * self._count + bound for bound in bounds]).tolist()
        return first < last


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
