"""DMA transfers as columns: bytes, contiguous runs, the engines that carry them, and the time of each stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.layout import Layout
from nki_anvil.sim.costs.rates import Rates
from nki_anvil.sim.instructions import ENGINES, NAMES
from nki_anvil.sim.kinds import named
from nki_anvil.sim.program import NONE, Program

DMA: Final = ENGINES.index("dma")
TRANSFERS: Final = ("dma_copy", "dma_transpose", "dma_compute", "sendrecv")
TRANSPOSE: Final = NAMES.index("dma_transpose")
COMPUTE: Final = NAMES.index("dma_compute")
SMALL_RUN_BYTES: Final = 512
"""A row below this counts as strided rather than small."""
GOOD_ROW_BYTES: Final = 2048
"""Rows from here on use the bandwidth (DMA plot)."""


@dataclass(frozen=True, slots=True)
class Transfers:
    """One row per transfer; ``rows`` are its instructions. Times in nanoseconds."""

    rows: NDArray[np.int64]
    size: NDArray[np.int64]
    """Bytes that arrive at the destination."""
    read: NDArray[np.int64]
    """Bytes read from HBM."""
    written: NDArray[np.int64]
    """Bytes written to HBM."""
    runs: NDArray[np.int64]
    row_bytes: NDArray[np.int64]
    first_engine: NDArray[np.int64]
    engines: NDArray[np.int64]
    start: NDArray[np.float64]
    """From trigger to first byte."""
    describe: NDArray[np.float64]
    """Descriptor generation: serial in its queue."""
    shared: NDArray[np.float64]
    """Of that, what all queues of a core have in common."""
    carry: NDArray[np.float64]
    """Time in each of its DMA engines."""
    ideal: NDArray[np.float64]
    """Its bytes over all engines of the core."""
    from_hbm: NDArray[np.bool_]
    software: NDArray[np.bool_]
    """Descriptors come from GpSimd."""


def transfers(program: Program, columns: Layout, chip: Chip, rates: Rates) -> Transfers:
    """Compute the columns for every instruction that moves data by DMA."""
    table = program.tables["instructions"]
    rows = np.flatnonzero(named(program, *TRANSFERS))
    target, source = columns.slot(rows, 0), columns.slot(rows, 1)
    size = _bytes(columns, target)
    from_hbm, to_hbm = ~columns.on_chip[source], ~columns.on_chip[target]
    inputs = np.where(table["opcode"][rows] == COMPUTE, (columns.slots[rows, 1:] != NONE).sum(axis=1), 1)
    sources = columns.slots[rows, 1:]
    sent, pieces = (np.where(sources != NONE, of(columns, sources), 0) for of in (_bytes, _run_count))
    moved = np.maximum(size * inputs, sent.sum(axis=1))  # on the way a transfer converts, it carries the wider format
    runs = np.maximum(_run_count(columns, target) * inputs, pieces.sum(axis=1))
    first, engines = _engines(columns, target, source, chip)
    rate = _engine_rate(program, chip, rates)
    modes = [str(a.get("dge_mode") or "unknown") for a in program.attributes]
    software = _software(program, rows, columns, modes)
    return Transfers(
        rows=rows,
        size=size,
        read=np.where(columns.on_chip[sources], 0, sent).sum(axis=1),
        written=np.where(to_hbm, size, 0),
        runs=runs,
        row_bytes=moved // np.maximum(runs, 1),
        first_engine=first,
        engines=engines,
        start=np.where(software, rates.dma_start_ns["swdge"], rates.dma_start_ns["unknown"]),
        describe=runs * rates.dma_run_ns,
        shared=runs * min(rates.dma_run_shared_ns, rates.dma_run_ns),
        carry=_carry(table["opcode"][rows] == TRANSPOSE, moved, runs, engines, from_hbm, rate, rates),
        ideal=moved / (rate * chip.dma_engines),
        from_hbm=from_hbm,
        software=software,
    )


def _engine_rate(program: Program, chip: Chip, rates: Rates) -> float:
    """Bytes per nanosecond of one DMA engine; the two cores of a pair share one stack of HBM (architecture guide)."""
    share = chip.hbm_stack_gbps / chip.dma_engines / max(program.cores, 1)
    return min(rates.dma_engine_rate, share)


def _bytes(columns: Layout, access: NDArray[np.int64]) -> NDArray[np.int64]:
    return columns.elements[access] * columns.itemsize[access]


def _run_count(columns: Layout, access: NDArray[np.int64]) -> NDArray[np.int64]:
    return columns.elements[access] // np.maximum(columns.run[access], 1)


def _engines(
    columns: Layout, target: NDArray[np.int64], source: NDArray[np.int64], chip: Chip
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each engine serves eight neighbouring partitions; between two places in HBM all serve (architecture guide).

    Partitions that data decide are taken to be the same ones every time.
    """
    share = chip.partitions // chip.dma_engines
    side = np.where(columns.on_chip[target], target, source)
    start = np.where(columns.wandering[side], 0, columns.first_partition[side])
    first, last = start // share, (start + columns.partitions[side] - 1) // share
    outside = ~columns.on_chip[side]
    first = np.where(outside, 0, np.clip(first, 0, chip.dma_engines - 1))
    last = np.where(outside, chip.dma_engines - 1, np.clip(last, first, chip.dma_engines - 1))
    return first, last - first + 1


def _carry(
    mirrored: NDArray[np.bool_],
    moved: NDArray[np.int64],
    runs: NDArray[np.int64],
    engines: NDArray[np.int64],
    from_hbm: NDArray[np.bool_],
    engine_rate: float,
    rates: Rates,
) -> NDArray[np.float64]:
    slow = np.where(from_hbm, rates.dma_transpose["hbm"], rates.dma_transpose["chip"])
    rate = engine_rate * np.where(mirrored, slow, 1)
    return np.maximum(moved / rate, runs * rates.dma_run_engine_ns) / engines + rates.dma_copy_ns


def _software(program: Program, rows: NDArray[np.int64], columns: Layout, modes: list[str]) -> NDArray[np.bool_]:
    number = program.tables["instructions"]["attributes"][rows]
    chosen = np.array([n != NONE and modes[n] == "swdge" for n in number.tolist()], bool)
    index = program.tables["accesses"]["vector_access"] != NONE
    slots = columns.slots[rows]
    return chosen | np.any((slots != NONE) & index[slots], axis=1)
