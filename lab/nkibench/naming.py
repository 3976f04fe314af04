"""``nkibench:NAME``: a task of a checkout in the workspace, copied to where it can be worked on."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from nki_anvil.lab import seeds, state, working_file
from nki_anvil.lab.nkibench import summary

PREFIX: Final = "nkibench:"


def copy(name: str, workspace: Path) -> Path:
    """The folder ``kernels/NAME`` with the task's reference and kernel; files that are there already stay as they are.

    ``name`` is a task, or ``FOLDER/TASK`` where the workspace holds several checkouts. Raises PathUnreadable,
    ProblemUnknown and, where the reference is another there or a problem.toml names one, ProblemChanged.
    """
    where, _, task_name = name.rpartition("/")
    root = working_file.confine(workspace, where) if where else workspace
    task = summary.named(root, task_name)
    folder = workspace / "kernels" / task.name
    for source, target in ((task.reference, "reference.py"), (task.kernel, "kernel.py")):
        working_file.confine(workspace, str(source))
        place = working_file.confine(workspace, folder / target)
        if not place.exists():
            state.write_bytes(place, source.read_bytes())
    seeds.refuse_another(task.reference, folder / "reference.py", PREFIX + name)
    if (folder / "problem.toml").exists():
        raise seeds.another(folder / "problem.toml", PREFIX + name)
    return folder
