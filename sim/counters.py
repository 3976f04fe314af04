"""The profiler's counters from the program, under its own names and definitions (recorded counters)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.layout import Layout
from nki_anvil.sim.costs.tensor import COUNTED_PASSES, Matmuls
from nki_anvil.sim.costs.transfers import TRANSFERS, Transfers
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.kinds import named
from nki_anvil.sim.model import Model, Run
from nki_anvil.sim.program import NONE, Program
from nki_anvil.sim.queues import PER_CORE, TENSOR
from nki_anvil.sim.schedule import Schedule

PSUM_WORD: Final = 4
UNCOUNTED: Final = ("tensor_tensor", "tensor_tensor_scan")
"""Elementwise instructions with two tensors, which the profiler's byte counters leave out."""


def counters(model: Model, run: Run) -> dict[str, float]:
    """All metrics of a profile; latency in milliseconds, dma_active_time in seconds, ``*_percent`` as fractions."""
    latency, spilled = run.latency, float(sum(run.found.spilled.values()))
    result = traffic(model.program, model.columns, model.found, model.moved, model.weight)
    result["hbm_read_bytes"] += spilled
    result["hbm_write_bytes"] += spilled
    result |= {"spill_reload_bytes": spilled, "spill_save_bytes": spilled}
    result |= ratios(result, model.chip, latency)
    active = {name: model.busy_ns()[name] for name in ("tensor", "vector", "scalar", "gpsimd")}
    active["tensor"] = _tensor_active(run.schedule, frozenset(model.moved.rows.tolist())) * run.scale
    for name, time in active.items():
        result[f"{name}_engine_active_time_percent"] = min(time / latency, 1.0) if latency else 0.0
    result["dma_active_time"] = min(_dma_active(run.schedule, model.moved) * run.scale, latency) / 1e9
    result["latency"] = latency / 1e6
    return result


def extras(model: Model, run: Run) -> dict[str, float]:
    """What newer profilers tell beside the metrics, as far as a model can, and the bounds that AWS's tools derive."""
    moved, count = model.moved, model.weight[model.moved.rows]
    number, total = float(count.sum()), float((moved.size * count).sum())
    return {
        "instruction_count": float(model.weight.sum()),
        "dma_transfer_count": number,
        "dma_transfer_total_bytes": total,
        "dma_transfer_average_bytes": total / number if number else 0.0,
        "memory_bound_ideal_us": total / model.chip.dma_core_theoretical_gbps / 1e3,
    }


def _tensor_active(schedule: Schedule, transfers: frozenset[int]) -> float:
    """Nanoseconds of the tensor engine at the clock that it really had; of an LNC pair the busier core."""
    total: dict[int, float] = {}
    for position, lane in enumerate(schedule.queue):
        if lane % PER_CORE == TENSOR and schedule.order[position] not in transfers:
            total[lane] = total.get(lane, 0.0) + schedule.release[position] - schedule.start[position]
    return max(total.values(), default=0.0)


def _dma_active(schedule: Schedule, moved: Transfers) -> float:
    """Nanoseconds in which bytes of at least one transfer were on their way."""
    transfers: frozenset[int] = frozenset(moved.rows.tolist())
    spans = sorted(
        (schedule.first[position], schedule.release[position])
        for position, instruction in enumerate(schedule.order)
        if instruction in transfers
    )
    active = reach = 0.0
    for first, last in spans:
        active += max(0.0, last - max(first, reach))
        reach = max(reach, last)
    return active


def traffic(
    program: Program, columns: Layout, found: Matmuls, moved: Transfers, weight: NDArray[np.float64]
) -> dict[str, float]:
    """Byte and FLOP counters. HBM in true bytes; the engines' part of SBUF and PSUM in bytes per partition."""
    load, store = (float((side * weight[moved.rows]).sum()) for side in (moved.read, moved.written))
    engines = _engine_bytes(program, columns, weight)
    count = weight[found.rows]
    passes = np.where(found.fp32, COUNTED_PASSES, 1) * count
    flops = found.flops * count
    return {
        "hbm_read_bytes": load,
        "hbm_write_bytes": store,
        "sbuf_read_bytes": store + engines["sbuf_read"] + float((passes * (found.m + found.n) * found.itemsize).sum()),
        "sbuf_write_bytes": load + engines["sbuf_write"],
        "psum_read_bytes": engines["psum_read"],
        "psum_write_bytes": engines["psum_write"] + float((passes * found.n * PSUM_WORD).sum()),
        "hardware_flops": float(flops.sum()),
        "transpose_flops": float(flops[found.transpose].sum()),
    }


def _engine_bytes(program: Program, columns: Layout, weight: NDArray[np.float64]) -> Mapping[str, float]:
    opcode, engine = program.tables["instructions"]["opcode"], program.tables["instructions"]["engine"]
    total: dict[str, float] = dict.fromkeys(("sbuf_read", "sbuf_write", "psum_read", "psum_write"), 0.0)
    counted = ~named(program, *UNCOUNTED, *TRANSFERS) & (engine != 0)
    for code in np.flatnonzero(np.bincount(opcode[counted])).tolist():
        rows = np.flatnonzero(counted & (opcode == code))
        writes = len(TABLE[NAMES[code]].writes)
        for position, _ in enumerate(TABLE[NAMES[code]].slots):
            _count(total, columns, rows, position, "write" if position < writes else "read", weight)
    return total


def _count(
    total: dict[str, float],
    columns: Layout,
    rows: NDArray[np.int64],
    position: int,
    direction: str,
    weight: NDArray[np.float64],
) -> None:
    access = columns.slot(rows, position)
    there = access != NONE
    size = np.where(there, columns.free[access] * columns.itemsize[access], 0) * weight[rows]
    psum = columns.psum[access]
    total[f"psum_{direction}"] += float(size[there & psum].sum())
    total[f"sbuf_{direction}"] += float(size[there & ~psum].sum())


def ratios(counters: Mapping[str, float], chip: Chip, latency_ns: float) -> dict[str, float]:
    """What the profiler derives from its counters. FLOP ratios are against the bf16 peak, as it does."""
    moved = counters["hbm_read_bytes"] + counters["hbm_write_bytes"]
    useful = counters["hardware_flops"] - counters["transpose_flops"]
    peak = 2 * chip.partitions * chip.stationary_free_max * chip.clocks_ghz["tensor"]  # FLOPs per nanosecond
    return {
        "mm_arithmetic_intensity": useful / moved if moved else 0.0,
        "hfu_estimated_percent": counters["hardware_flops"] / (peak * latency_ns) if latency_ns else 0.0,
        "peak_flops_bandwidth_ratio": peak / (chip.hbm_stack_gbps / 2),  # two cores share a stack
    }
