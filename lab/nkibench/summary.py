"""What ``summary.json`` of an NKIBench checkout names: tasks, their dimensions, references and kernels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nki_anvil.backends.errors import PathUnreadable, ProblemUnknown

FILE: Final = "summary.json"
TOLERANCE: Final = 2e-5
"""AccelOpt's relative L2 error, set by its scripts and not stored with the tasks."""
LOOSER: Final = {"mamba": 3e-5}
"""The one task for which its scripts set another."""


@dataclass(frozen=True, slots=True)
class Task:
    """One case of the benchmark with one kernel."""

    name: str
    reference: Path
    kernel: Path
    values: dict[str, int]

    @property
    def tolerance(self) -> float:
        return LOOSER.get(self.name.partition("@")[0], TOLERANCE)


def find(folder: Path) -> Path:
    """The ``summary.json`` in a folder or not far below it. Raises PathUnreadable."""
    root = folder.expanduser().resolve()
    if root.is_file() and root.name == FILE:
        return root
    for pattern in (FILE, f"*/{FILE}", f"*/*/{FILE}"):
        found = sorted(root.glob(pattern))
        if found:
            return found[0]
    raise PathUnreadable(f"There is no {FILE} in {folder}.", "Name the NKIBench folder of an AccelOpt checkout.")


def tasks(folder: Path) -> list[Task]:
    """All cases in the order of the file. Raises PathUnreadable for what is not there or not readable."""
    path = find(folder)
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found = [task for name, entry in content.items() for task in _cases(path.parent, name, entry["cases"])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PathUnreadable(
            f"{path} is no summary of NKIBench: {type(error).__name__}: {error}.",
            "It maps tasks to cases with values and impls.",
        ) from error
    for task in found:
        for file in (task.reference, task.kernel):
            if not file.is_file():
                raise PathUnreadable(f"{path} names {file}, which is not there.", "Check out NKIBench whole.")
    return found


def _cases(root: Path, name: str, cases: dict[str, Any]) -> list[Task]:
    several = sum(len(case["impls"]) for case in cases.values()) > 1
    found: list[Task] = []
    for key, case in cases.items():
        values = {dimension: int(size) for dimension, size in case["values"].items()}
        for number, files in enumerate(case["impls"]):
            label = f"{name}@{key}.{number}" if several else name
            found.append(Task(label, (root / files["task"]).resolve(), (root / files["kernel"]).resolve(), values))
    return found


def named(folder: Path, name: str) -> Task:
    """One task by its name. Raises ProblemUnknown with those that there are."""
    every = tasks(folder)
    for task in every:
        if task.name == name:
            return task
    known = ", ".join(task.name for task in every)
    raise ProblemUnknown(f"NKIBench has no task {name[:80]!r}.", f"It has {known}.")
