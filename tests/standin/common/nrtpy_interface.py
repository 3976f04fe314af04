"""The runtime's binding, standing in under whatever name it has: NEFFs loaded and run from Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import standin_device as device
from standin_device import NrtError

__all__ = ["BenchmarkResult", "NrtError", "NrtpyModel", "NrtpyTensor"]


class NrtpyTensor:
    """An array that lies on the device."""

    def __init__(self, array: Any, name: str | None) -> None:
        self.array, self.name = np.ascontiguousarray(array).copy(), name
        self.shape, self.dtype = self.array.shape, self.array.dtype

    @classmethod
    def from_numpy(cls, array: Any, name: str | None = None, core_id: int = 0) -> NrtpyTensor:
        device.Cores.occupy()
        return cls(array, name)

    def write_from_numpy(self, array: Any) -> None:
        if array.nbytes != self.array.nbytes:
            raise ValueError(f"{array.nbytes} bytes for a tensor of {self.array.nbytes}")
        self.array = np.ascontiguousarray(array).copy()

    def numpy(self) -> Any:
        return self.array


@dataclass
class TensorMetadata:
    shape: list[int]
    size: int


@dataclass
class BenchmarkResult:
    mean_ms: float
    min_ms: float
    max_ms: float
    std_dev_ms: float
    iterations: int
    warmup_iterations: int
    durations_ms: list[float] = field(default_factory=list)


class NrtpyModel:
    """A loaded NEFF."""

    def __init__(self, loaded: device.Loaded) -> None:
        self._loaded = loaded
        self.input_tensors_info = {name: TensorMetadata([], 0) for name in loaded.inputs}
        specs = loaded.specs("outputs")
        # as libnrt lists them: not in the kernel's order
        self.output_tensors_info = {name: TensorMetadata(list(s), size) for name, s, size in reversed(specs)}

    @classmethod
    def load_from_neff(cls, neff_path: str | Path, name: str | None = None, core_id: int = 0, **_: Any) -> NrtpyModel:
        device.Cores.occupy()
        return cls(device.load(str(neff_path)))

    def __call__(
        self,
        inputs: dict[str, NrtpyTensor],
        outputs: dict[str, NrtpyTensor] | None = None,
        save_trace: bool = False,
        ntff_name: str | None = None,
    ) -> dict[str, NrtpyTensor] | None:
        if set(inputs) != set(self._loaded.inputs):
            raise NrtError(f"NRT Error NRT_INVALID(2): inputs {sorted(inputs)}, not {sorted(self._loaded.inputs)}")
        results, after = device.run(self._loaded, [inputs[name].array for name in self._loaded.inputs])
        for name, array in zip(self._loaded.inputs, after):
            inputs[name].array = np.asarray(array)
        named = {f"output_{position}": result for position, result in enumerate(results)}
        if outputs is None:
            return {name: NrtpyTensor(opaque(result), name) for name, result in named.items()}
        arrays = [inputs[name].array for name in self._loaded.inputs]
        written = dict(zip(named, device.written(self._loaded, arrays, results)))
        for name, result in named.items():
            if outputs[name].array.nbytes != result.nbytes:
                raise NrtError(f"NRT Error NRT_INVALID(2): the output {name} has {outputs[name].array.nbytes} bytes")
            outputs[name].array = opaque(device.left(written[name], result, outputs[name].array))
        return None

    def benchmark(
        self,
        inputs: dict[str, NrtpyTensor],
        outputs: dict[str, NrtpyTensor] | None = None,
        warmup_iter: int = 5,
        benchmark_iter: int = 5,
        mode: str = "device",
    ) -> BenchmarkResult:
        if mode not in ("device", "host") or benchmark_iter < 1:
            raise ValueError("mode is device or host, and there is at least one iteration")
        self(inputs, outputs)
        if outputs and device.switches().get("wrong_when_timed"):
            for tensor in outputs.values():
                tensor.array = np.zeros_like(tensor.array.view(np.uint8)).view(tensor.array.dtype)
        ms = [us / 1e3 for us in device.latencies_us(self._loaded, benchmark_iter)]
        single = [] if device.switches().get("summary_only") else ms
        mean = float(np.mean(ms))
        return BenchmarkResult(mean, min(ms), max(ms), float(np.std(ms)), benchmark_iter, warmup_iter, single)


def opaque(array: Any) -> Any:
    """Outputs come back without their dtype: libnrt does not always know it."""
    plain = np.ascontiguousarray(array)
    return plain.view(f"V{plain.dtype.itemsize}")
