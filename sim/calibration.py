"""The model against public recordings of real devices: predicted over measured, case by case.

The cases are published profiles (named in ``costs.rates``); the kernels are in ``recorded``. Nothing here was
measured by this project.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from nki_anvil.sim import recorded
from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.costs.rates import RATES
from nki_anvil.sim.model import Model
from nki_anvil.sim.profile import Estimate, estimate
from nki_anvil.sim.tracing import ArraySpec, trace

GOAL_TENSOR: Final = 1.10
GOAL_DMA: Final = 1.20
GOAL_OTHER: Final = 2.0
PLATEAU: Final = ((2048, 81.3), (4096, 96.6), (8192, 98.3), (16384, 99.0))
KNEE: Final = ((32, 1.3), (64, 2.6), (128, 5.0), (256, 10.3), (512, 20.6), (1024, 42.2))
"""Bytes per partition and percent of the plateau of 368 GB/s (DMA plot)."""
SIDE: Final = 4096


@dataclass(frozen=True, slots=True)
class Replay:
    """One quantity of one recording. ``goal`` is the largest factor that predicted and measured may differ by."""

    case: str
    quantity: str
    unit: str
    measured: float
    predicted: float
    goal: float
    unfitted: bool = False
    """No constant of the model was fitted to it."""

    @property
    def ratio(self) -> float:
        """Predicted over measured."""
        return self.predicted / self.measured

    @property
    def within_goal(self) -> bool:
        """Whether the factor between the two is at most the goal."""
        return 1 / self.goal <= self.ratio <= self.goal


def replay() -> tuple[Replay, ...]:
    """Estimate every recorded case on its chip; a few seconds. Those that nothing was fitted to come last."""
    return tuple(item for case in (*_CASES, *_HELD_OUT) for item in case())


def _model(kernel: Callable[..., Any], *inputs: ArraySpec) -> Model:
    return Model(trace(kernel, *inputs), CHIPS["trn2"], RATES["trn2"])


def _bytes(rows: int, columns: int) -> ArraySpec:
    return ArraySpec((rows, columns), np.uint8)


def _activation() -> Iterator[Replay]:
    for size, measured in ((128, 399.0), (4096, 3708.0)):
        latency = estimate(trace(recorded.activations(size))).latency_us * 1e3
        yield Replay("exp profile", f"exp of {size} per partition", "ns", measured, latency, GOAL_TENSOR)


def _single_transfers() -> Iterator[Replay]:
    array = ArraySpec((128, 1024), np.float32)
    cases = (
        ("load of 32 KiB by one engine", recorded.load(8, 4096), 1416.0, GOAL_DMA),
        ("store of 32 KiB by one engine", recorded.store(8, 4096), 1226.0, GOAL_DMA),
        ("load of 128 x 256 B", recorded.load(128, 256), 468.0, GOAL_OTHER),
    )
    for name, kernel, measured, goal in cases:
        schedule = _model(kernel, array).run().schedule
        yield Replay("exp profile", name, "ns", measured, schedule.release[0] - schedule.first[0], goal)


def _throughput() -> Iterator[Replay]:
    for points, goal in ((KNEE, GOAL_OTHER), (PLATEAU, GOAL_DMA)):
        for row_bytes, measured in points:
            count = 64
            schedule = _model(recorded.loads(count, row_bytes), _bytes(128, row_bytes)).run().schedule
            span = schedule.release[-1] - schedule.release[count // 2 - 1]
            rate = count / 2 * 128 * row_bytes / span
            yield Replay("DMA plot", f"loads of 128 x {row_bytes} B", "% of 368 GB/s", measured, rate / 3.68, goal)


def _matmul(kernel: Callable[..., Any]) -> Estimate:
    matrix = ArraySpec((SIDE, SIDE), "bfloat16")
    return estimate(trace(kernel, matrix, matrix))


def _large_matmul() -> Iterator[Replay]:
    naive, rows = _matmul(recorded.matmul_tile_by_tile), _matmul(recorded.matmul_by_rows)
    yield from _of_matmul("matmul, naive", naive, (8602.0, 7906.0, 4806.0), (GOAL_OTHER, GOAL_OTHER, GOAL_OTHER))
    yield from _of_matmul("matmul, by rows", rows, (1801.0, 819.0, 1781.0), (GOAL_TENSOR, GOAL_DMA, GOAL_TENSOR))
    copies = next(engine.busy_us for engine in rows.engines if engine.engine == "vector")
    yield Replay("matmul, by rows", "vector engine, 256 copies out of PSUM", "us", 174.0, copies, GOAL_DMA)
    yield Replay("matmul", "naive over rows", "", 8602.0 / 1801.0, naive.latency_us / rows.latency_us, 1.5)


def _of_matmul(
    case: str, found: Estimate, measured: tuple[float, float, float], goals: tuple[float, float, float]
) -> Iterator[Replay]:
    tensor = found.metrics["tensor_engine_active_time_percent"] * found.latency_us
    predicted = (found.latency_us, found.metrics["dma_active_time"] * 1e6, tensor)
    names = ("4096^3 bf16", "DMA active", "tensor engine active")
    for name, was, now, goal in zip(names, measured, predicted, goals, strict=True):
        yield Replay(case, name, "us", was, now, goal)


def _mixed_modes() -> Iterator[Replay]:
    for row_bytes, measured, goal in ((1024, 259.0, GOAL_OTHER), (4096, 354.0, GOAL_DMA)):
        count = 128
        target = ArraySpec((count, 128, row_bytes), np.uint8)
        latency = _model(recorded.mixed_modes(count, row_bytes), _bytes(128, row_bytes), target).run().schedule.latency
        rate = (2 * count - 8) * 128 * row_bytes / latency
        yield Replay("descriptor modes", f"tiles of 128 x {row_bytes} B, four modes", "GB/s", measured, rate, goal)


def _tensor_engine() -> Iterator[Replay]:
    full = _model(recorded.matmuls(2048)).run().schedule.latency
    flops = 2.0 * 128 * 128 * 512
    yield Replay("array micro-benchmark", "2048 full matmuls", "TFLOPS", 77.2, 2048 * flops / full / 1e3, GOAL_TENSOR)
    partial = _model(recorded.array_uses(512)).run().schedule.latency
    work = 512 * flops * (1 + 1 / 4 + 1 / 4 + 1 / 8)
    yield Replay(
        "array micro-benchmark", "512 each of M=32, N=64, K=32, full", "TFLOPS", 30.8, work / partial / 1e3, GOAL_DMA
    )


def _first_generation(kernel: Callable[..., Any], *inputs: ArraySpec) -> Estimate:
    return estimate(trace(kernel, *inputs), "trn1")


def _silu() -> Iterator[Replay]:
    """The recorded Trn1 profile of NKIBench's silu: the reciprocal's rate was fitted to its vector engine's time."""
    found = _first_generation(recorded.sigmoid_unit(1024, 512), ArraySpec((4096, 7168), np.float32))
    engines = {engine.engine: engine.busy_us for engine in found.engines}
    yield Replay("Trn1 silu", "4096 x 7168 fp32", "us", 1333.2, found.latency_us, GOAL_OTHER)
    yield Replay("Trn1 silu", "vector engine active", "us", 985.0, engines["vector"], GOAL_DMA)
    yield Replay("Trn1 silu", "scalar engine active", "us", 419.7, engines["scalar"], GOAL_DMA)


MAMBA_STATES: Final = 16
MAMBA: Final = ((256, 512, 172.93), (4096, 512, 1610.0), (4096, 1024, 3300.0), (4096, 2048, 6600.0))
"""Channels, length and microseconds (tutorial of the fused Mamba kernel in the vendor's documentation, Trn1)."""


def _mamba() -> Iterator[Replay]:
    for channels, length, measured in MAMBA:
        wide, rate = ArraySpec((channels, length), np.float32), ArraySpec((channels, MAMBA_STATES), np.float32)
        row = ArraySpec((MAMBA_STATES, length), np.float32)
        found = _first_generation(recorded.state_space(MAMBA_STATES, 512), wide, wide, rate, row, row)
        quantity = f"{channels} channels, length {length}"
        yield Replay("Trn1 Mamba tutorial", quantity, "us", measured, found.latency_us, GOAL_OTHER, unfitted=True)


_CASES: Final = (_activation, _single_transfers, _throughput, _large_matmul, _mixed_modes, _tensor_engine, _silu)
_HELD_OUT: Final = (_mamba,)
