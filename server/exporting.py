"""``nki-anvil export``: the best kernel as a file of its own, and how it differs from the user's."""

from __future__ import annotations

import difflib
from pathlib import Path

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import PathUnwritable
from nki_anvil.lab import state, working_file
from nki_anvil.lab.best import Best
from nki_anvil.lab.digest import digest
from nki_anvil.lab.judging import confirmed_best
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.opening import refuse_sources
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.status import passes_today
from nki_anvil.lab.workbench import Workbench
from nki_anvil.server import shelf


async def export(lab: Laboratory, name: str, to: Path | None, *, force: bool = False, report: Report = silent) -> str:
    """Writes best to `to`, verified again on cases that no call has seen, unless that was done.

    Returns where, and a unified diff against the working file. Raises ProblemUnknown, ProblemChanged, AttemptUnknown
    while nothing has passed, ArgumentsInvalid where a problem rests on `to`, PathOutside and PathUnwritable: also where
    `to` holds what is no attempt of this problem, and so is kept nowhere else, unless `force` says that it may go.
    """
    path = working_file.of_a_problem(lab.workspace, to or f"{name}.best.py")
    found = lab.problem(name)
    found.refuse_when_changed()
    await run_sync(refuse_sources, lab, path)
    await run_sync(refuse_what_would_go, lab, name, path, force)
    holder = await standing(lab, found, report)
    found.refuse_when_changed()
    await run_sync(refuse_what_would_go, lab, name, path, force)  # it was written to while best was verified
    return await run_sync(write, lab, found, holder, path)


def refuse_what_would_go(lab: Laboratory, name: str, path: Path, force: bool) -> None:
    """Raises PathUnwritable for a text that is kept nowhere else."""
    if not force and path.exists() and not kept(lab, name, path):
        raise PathUnwritable(
            f"{lab.shown(path)} holds something else than an earlier export and was left as it is.",
            "Give --force to overwrite it, or --to another file.",
        )


async def standing(lab: Laboratory, found: Problem, report: Report) -> Best:
    """Best by today's judgement, as far as the backend that judged it can be asked. Raises AttemptUnknown."""
    holder = shelf.holder_of(found)
    if await run_sync(passes_today, lab, found, holder) is None:
        return holder
    bench = Workbench(lab, found, lab.backends[holder.receipt.backend])
    return await confirmed_best(bench, report) or await standing(lab, found, report)


def write(lab: Laboratory, found: Problem, holder: Best, path: Path) -> str:
    best = found.attempts.held(holder).text()
    user = working_file.confine(lab.workspace, found.working_file)
    path = working_file.of_a_problem(lab.workspace, path)  # a folder may be a link by now
    state.write_text(path, best)
    said = difference(user, best, path) or f"identical to the working file {lab.shown(user)}"
    if passes_today(lab, found, holder) is None:
        judged = f"{holder.receipt.backend} ({holder.receipt.toolchain})"
        said = f"It was judged on {judged}, which cannot be asked now whether it still holds.\n{said}"
    return f"{path}\n{said}"


def kept(lab: Laboratory, name: str, path: Path) -> bool:
    """Whether the file's text is an attempt of this problem, as every export is."""
    return lab.problem(name).attempts.of(digest(working_file.read(path))) is not None


def difference(user: Path, best: str, path: Path) -> str:
    """Empty where the working file holds best."""
    current = user.read_text(encoding="utf-8") if user.is_file() else ""
    if digest(current) == digest(best):
        return ""
    lines = difflib.unified_diff(current.split("\n"), best.split("\n"), str(user), str(path), lineterm="")
    return "\n".join(lines)
