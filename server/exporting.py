"""``nki-anvil export``: the best kernel as a file of its own, and how it differs from the user's."""

from __future__ import annotations

import difflib
from pathlib import Path

from nki_anvil.backends.errors import PathUnwritable
from nki_anvil.lab import state, working_file
from nki_anvil.lab.digest import digest
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.server import shelf


def export(lab: Laboratory, name: str, to: Path | None, *, force: bool = False) -> str:
    """Writes best to `to`. Returns where, and a unified diff against the working file.

    Raises ProblemUnknown, AttemptUnknown while nothing has passed, PathOutside and PathUnwritable: also where `to`
    holds what is no attempt of this problem, and so is kept nowhere else, unless `force` says that it may go.
    """
    path = working_file.of_a_problem(lab.workspace, to or f"{name}.best.py")
    best = shelf.best(lab, name)
    if not force and path.exists() and not kept(lab, name, path):
        raise PathUnwritable(
            f"{lab.shown(path)} holds something else than an earlier export and was left as it is.",
            "Give --force to overwrite it, or --to another file.",
        )
    state.write_text(path, best)
    user = lab.problem(name).working_file
    return f"{path}\n{difference(user, best, path) or f'identical to the working file {lab.shown(user)}'}"


def kept(lab: Laboratory, name: str, path: Path) -> bool:
    """Whether the file's text is an attempt of this problem, as every export is."""
    return lab.problem(name).attempts.of(digest(working_file.read(path))) is not None


def difference(user: Path, best: str, path: Path) -> str:
    """Empty where the working file holds best."""
    current = user.read_text(encoding="utf-8") if user.is_file() else ""
    lines = difflib.unified_diff(current.splitlines(), best.splitlines(), str(user), str(path), lineterm="")
    return "\n".join(lines)
