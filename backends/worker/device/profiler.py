"""Captures and reads profiles with whichever of the vendor's profilers a host has."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Optional

from nki_anvil.backends.worker.device import metrics
from nki_anvil.backends.worker.device.failures import MachineFailure, machine_failure, run_error, tail
from nki_anvil.backends.worker.device.programs import TOO_LATE

NAMES: Final = ("neuron-explorer", "neuron-profile")
NTH: Final = 2
"""The second execution: the first also loads."""

Run = Callable[[Sequence[str], str, float], tuple[int, str, str]]
"""Runs a program in a folder within seconds; its status (TOO_LATE where it was ended), output and complaints."""


class KernelBroke(Exception):
    """The profiled run failed through the kernel's own doing; ``error`` is a KernelError."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


class Profiler:
    """One of the vendor's profilers, and how it is asked."""

    def __init__(self, tools: dict[str, str], run: Run) -> None:
        name = next((name for name in NAMES if tools.get(name)), None)
        if name is None:
            raise MachineFailure("unsupported", "there is neither neuron-explorer nor neuron-profile")
        self.name, self.path, self.run = name, tools[name], run

    def capture(
        self,
        folder: Path,
        neff: str,
        inputs: Sequence[tuple[str, str]],
        seconds: float,
        *,
        save_outputs: bool = False,
    ) -> Path:
        """One profiled execution; the trace file. Raises KernelBroke, MachineFailure."""
        flags = ["--enable-dge-notifs"] if self.name == "neuron-explorer" else []
        flags += ["--save-output-npy"] if save_outputs else []
        named = [part for pair in inputs for part in pair]
        command = [self.path, "capture", "-n", neff, "-s", "profile.ntff", f"--profile-nth-exec={NTH}", *flags, *named]
        status, output, complaints = self.run(command, str(folder), seconds)
        if status == TOO_LATE:
            raise KernelBroke(_too_late(seconds))
        if status:
            said = complaints + output
            error = run_error(said)
            raise KernelBroke(error) if error else machine_failure(f"{self.name} capture failed: {tail(said)}")
        return _trace(folder)

    def summary(self, folder: Path, neff: str, trace: Path, seconds: float) -> dict[str, Any]:
        """The profiler's own counters: from its JSON, else from the Summary table where that format is gone."""
        view = [self.path, "view", "-n", neff, "-s", str(trace)]
        status, output, complaints = self.run([*view, "--output-format", "summary-json"], str(folder), seconds)
        found = _json(output)
        if status == 0 and found is not None:
            return metrics.summary_of(found)
        if self.name == "neuron-explorer" and _format_gone(status, complaints + output):
            return self._table(view, folder, seconds)
        raise MachineFailure("failed", f"{self.name} view gave no summary: {tail(complaints + output)}")

    def profile(
        self, folder: Path, neff: str, inputs: Sequence[tuple[str, str]], shapes: str, seconds: float
    ) -> dict[str, Any]:
        """A Profile. Raises KernelBroke, MachineFailure."""
        trace = self.capture(folder, neff, inputs, seconds)
        try:
            return metrics.profile(self.summary(folder, neff, trace, seconds), shapes)
        except metrics.NoLatency as error:
            raise MachineFailure("failed", str(error)) from None

    def _table(self, view: list[str], folder: Path, seconds: float) -> dict[str, Any]:
        where = folder / "tables"
        status, output, complaints = self.run(
            [*view, "--output-format", "parquet", "--data-path", str(where)], str(folder), seconds
        )
        table = next(iter(sorted(where.rglob("Summary*.parquet"))), None) if where.exists() else None
        if status or table is None:
            raise MachineFailure("failed", f"{self.name} view wrote no Summary table: {tail(complaints + output)}")
        try:
            parquet: Any = importlib.import_module("pyarrow.parquet")
        except ImportError:
            message = f"{self.name} no longer writes summary-json, and this Python has no pyarrow to read its tables"
            raise MachineFailure("unsupported", message) from None
        rows: list[dict[str, Any]] = parquet.read_table(table).to_pylist()
        return metrics.summary_of(rows)


def _too_late(seconds: float) -> dict[str, Any]:
    message = f"The device did not come to an end within {seconds:g} s."
    return {
        "code": "Timeout",
        "message": message,
        "line": None,
        "remedy": "Check the end of loops that depend on data.",
    }


def _trace(folder: Path) -> Path:
    """``--profile-nth-exec`` puts its number into the file's name."""
    found = sorted(folder.glob("profile*.ntff"), key=lambda path: (f"exec_{NTH}" in path.name, path.stat().st_mtime))
    if not found:
        raise MachineFailure("failed", "the profiler said that all is well, and wrote no trace")
    return found[-1]


def _json(said: str) -> Optional[Any]:
    try:
        return json.loads(said)
    except ValueError:
        return None


def _format_gone(status: int, said: str) -> bool:
    words = said.lower()
    return (
        bool(status)
        and "format" in words
        and any(w in words for w in ("unsupported", "invalid", "unknown", "not supported"))
    )
