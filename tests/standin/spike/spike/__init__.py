"""spike, standing in: the binding's first name, for one that returns summary figures alone and knows no modes."""

from __future__ import annotations

from typing import Any

import standin_device as device
from nrtpy_interface import BenchmarkResult, NrtpyModel, NrtpyTensor

__stand_in__ = device.STAND_IN


class SpikeTensor(NrtpyTensor):
    """As NrtpyTensor."""


class SpikeModel(NrtpyModel):
    """As NrtpyModel."""

    def benchmark(  # type: ignore[override]
        self, inputs: Any, outputs: Any = None, warmup_iter: int = 5, benchmark_iter: int = 5
    ) -> BenchmarkResult:
        found = super().benchmark(inputs, outputs, warmup_iter, benchmark_iter)
        found.durations_ms = []
        return found
