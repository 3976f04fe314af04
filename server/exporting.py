"""``nki-anvil export``: the best kernel as a file of its own, and how it differs from the user's."""

from __future__ import annotations

import difflib
from pathlib import Path

from nki_anvil.lab import state, working_file
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.server import shelf


def export(lab: Laboratory, name: str, to: Path | None) -> str:
    """Writes best to `to`. Returns where, and a unified diff against the working file.

    Raises ProblemUnknown, AttemptUnknown while nothing has passed, PathOutside and PathUnwritable.
    """
    path = working_file.confine(lab.workspace, to or f"{name}.best.py")
    best = shelf.best(lab, name)
    state.write_text(path, best)
    user = lab.problem(name).working_file
    return f"{path}\n{difference(user, best, path)}".rstrip()


def difference(user: Path, best: str, path: Path) -> str:
    """Empty where the working file holds best."""
    current = user.read_text(encoding="utf-8") if user.is_file() else ""
    lines = difflib.unified_diff(current.splitlines(), best.splitlines(), str(user), str(path), lineterm="")
    return "\n".join(lines)
