"""One task, quickly: the reference draws and computes, the kernel is traced, its program runs, outputs are compared.

Each in a process of its own: kernel text is never in one with data, and nothing but this file compares.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import numpy as np

from nki_anvil.backends.backend import Report
from nki_anvil.backends.corpus import child
from nki_anvil.backends.errors import BackendFailed
from nki_anvil.backends.job import Limits
from nki_anvil.lab.nkibench.results import TaskResult
from nki_anvil.lab.nkibench.summary import Task
from nki_anvil.lab.reference import Reference
from nki_anvil.lab.yields import ACCELOPT_TRN2
from nki_anvil.sim.versions import CURRENT

TRACING: Final = "nki_anvil.backends.corpus.tracing_process"
EXECUTION: Final = "nki_anvil.backends.corpus.execution_process"
BOUNDS: Final = child.Bounds(seconds=600.0, memory_bytes=8 << 30)
SEEDS: Final = (0, 21, 42, 63, 84)
"""AccelOpt's own, in its order; more seeds go on by 21."""
_CHUNK: Final = 1 << 24
"""Elements that are compared at a time."""


@dataclass
class _Measured:
    """What the seeds of one task gave."""

    error: float = 0.0
    simulated: list[float] = field(default_factory=list[float])
    reference: list[float] = field(default_factory=list[float])
    prepared: float = 0.0
    modelled_us: float | None = None
    peak_memory_mb: float = 0.0
    least_us: float | None = None


async def run(task: Task, seeds: int, chip: str, report: Report) -> TaskResult:
    """The task on so many seeds; what the kernel does wrong is in the result."""
    measured = _Measured()
    for number in range(seeds):
        await report(f"{task.name}: seed {number + 1} of {seeds}")
        seed = SEEDS[number] if number < len(SEEDS) else 21 * number
        reference = Reference(task.reference)
        async with reference.ask("benchmark", seed=seed, count=number == 0) as (told, folder):
            failed = await anyio.to_thread.run_sync(_seed, task, told, folder, chip, measured)
        if failed:
            return TaskResult(name=task.name, passed=False, reason=failed)
        if number == 0:
            measured.least_us = _least_us(told, chip)
    return _result(task, measured)


def _seed(task: Task, told: dict[str, Any], folder: Path, chip: str, measured: _Measured) -> str:
    """Trace, execute and compare; returns why the kernel failed, else nothing."""
    refused = _traced(task, told["arguments"], folder, chip)
    if refused:
        return refused
    answer = _asked(folder, EXECUTION, {"arguments": told["arguments"], "chip": chip})
    if "failed" in answer:
        return _said(answer["failed"])
    if answer["outputs"] != told["outputs"]:
        return f"The kernel returns {answer['outputs']} outputs, the reference {told['outputs']}."
    for position in range(answer["outputs"]):
        found = difference(folder / f"output{position}.npy", folder / f"expected{position}.npy")
        if isinstance(found, str):
            return found
        measured.error = max(measured.error, found)
    measured.simulated.append(answer["simulated_s"])
    measured.reference.append(told["seconds"])
    measured.prepared = max(measured.prepared, answer["prepared_s"])
    measured.modelled_us = answer["modelled_us"]
    measured.peak_memory_mb = max(measured.peak_memory_mb, answer["peak_memory_mb"])
    return ""


def _traced(task: Task, arguments: list[dict[str, Any]], folder: Path, chip: str) -> str:
    """Leave the kernel's program in the folder; returns why there is none, else nothing."""
    answer = _asked(
        folder,
        TRACING,
        {
            "job": {"entry": None, "chip": chip, "version": CURRENT, "lnc": 1, "limits": Limits().model_dump()},
            "inputs": [_specification(position, argument) for position, argument in enumerate(arguments)],
            "kernel": task.kernel.read_text(encoding="utf-8"),
        },
    )
    if "machine" in answer:
        raise BackendFailed(answer["machine"], "Call again.")
    return _said(answer["failed"]) if "failed" in answer else ""


def _specification(position: int, argument: dict[str, Any]) -> dict[str, Any]:
    if "shape" in argument:
        return {"name": f"input{position}", "shape": argument["shape"], "dtype": argument["dtype"], "value": None}
    value = argument["value"]
    kind = "float" if isinstance(value, float) else "int"
    return {"name": f"input{position}", "shape": None, "dtype": kind, "value": value}


def _asked(folder: Path, module: str, request: dict[str, Any]) -> dict[str, Any]:
    """The answer of a process of ours to one request; how it ended, as a failure, where it left none."""
    limits = {"seconds": BOUNDS.seconds, "memory_bytes": BOUNDS.memory_bytes}
    for name in ("request.json", "answer.json"):
        (folder / name).unlink(missing_ok=True)
    (folder / "request.json").write_text(json.dumps({**request, **limits}))
    ending = child.run_in(folder, BOUNDS.seconds, module)
    answer = folder / "answer.json"
    return json.loads(answer.read_text()) if answer.is_file() else {"failed": ending}


def _said(failed: dict[str, Any]) -> str:
    where = f" at line {failed['line']}" if failed.get("line") else ""
    remedy = f" {failed['remedy']}" if failed.get("remedy") else ""
    return f"[{failed['code']}]{where} {failed['message']}{remedy}"


def difference(output: Path, expected: Path) -> float | str:
    """Relative L2 error of one output, as AccelOpt judges it; a sentence where the sizes differ."""
    got, wanted = (np.load(path, mmap_mode="r").reshape(-1) for path in (output, expected))
    if got.size != wanted.size:
        return f"An output has {got.size} elements, the reference's {wanted.size}."
    apart = norm = 0.0
    for start in range(0, wanted.size, _CHUNK):
        part = wanted[start : start + _CHUNK].astype(np.float64)
        apart += float(np.square(got[start : start + _CHUNK] - part).sum())
        norm += float(np.square(part).sum())
    return math.sqrt(apart / norm) if norm else math.sqrt(apart)


def _least_us(told: dict[str, Any], chip: str) -> float | None:
    """AccelOpt's T for float32: the longest of moving the bytes, the matmuls, and the vector work. Trn2 only."""
    if chip != "trn2":
        return None
    bytes_ = told["bytes"]
    rates = ACCELOPT_TRN2
    return max(
        bytes_ / rates["bytes_per_us"], told["matmul_flops"] / rates["fp32"], told["vector_flops"] / rates["vector"]
    )


def _result(task: Task, measured: _Measured) -> TaskResult:
    simulated, reference = (sum(times) / len(times) for times in (measured.simulated, measured.reference))
    passed = measured.error < task.tolerance
    latency, least = measured.modelled_us, measured.least_us
    return TaskResult(
        name=task.name,
        passed=passed,
        error=measured.error,
        ratio=simulated / reference if reference else None,
        simulated_s=simulated,
        reference_s=reference,
        modelled_us=latency,
        percent_of_peak=100 * least / latency if least and latency else None,
        peak_memory_mb=measured.peak_memory_mb,
        prepared_s=measured.prepared,
        reason="" if passed else f"The relative L2 error {measured.error:.2e} is above {task.tolerance:g}.",
    )
