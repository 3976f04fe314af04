"""What happened since a long call found what it is about to answer: people edit while they wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync

from nki_anvil.backends.errors import AnvilError
from nki_anvil.lab import evaluating, given, working_file
from nki_anvil.lab.digest import digest
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.workbench import Workbench, workbench
from nki_anvil.tools.desk import Desk
from nki_anvil.tools.result import LongResult

SHOWN = 3
"""Files that are named; the others are counted."""


async def outdated(desk: Desk, arguments: dict[str, Any], result: LongResult) -> bool:
    """Whether a result that waited to be fetched is no answer any more, so that the call has to be made anew.

    Also where the problem changed: the call that is made anew says so.
    """
    lab = await desk.laboratory()
    return await run_sync(partial(_outdated, lab, _problem(arguments, result), result))


def _outdated(lab: Laboratory, problem: str, result: LongResult) -> bool:
    try:
        return result.outdated(workbench(lab, problem))
    except AnvilError:
        return True


async def since_then(desk: Desk, arguments: dict[str, Any], result: LongResult) -> LongResult:
    """The result as it is, unless it is about texts of files that hold others by now.

    Raises ProblemChanged where the reference changed, on which it rests.
    """
    if result.pending:
        return result
    lab = await desk.laboratory()
    edited = await run_sync(partial(_edited, lab, arguments, result))
    return _said(result, edited) if edited else result


def _said(result: LongResult, edited: list[str]) -> LongResult:
    files = ", ".join(edited[:SHOWN]) + (f" and {len(edited) - SHOWN} more" if len(edited) > SHOWN else "")
    were, they = ("was", "it holds") if len(edited) == 1 else ("were", "they hold")
    said = f"{files} {were} edited since this call read {they.split()[0]}: this says nothing of what {they} now."
    steps = [f"verify_kernel: judge what {edited[0]} holds now.", *result.next_steps]
    return result.model_copy(update={"summary": f"{result.summary} {said}", "next_steps": steps})


def _edited(lab: Laboratory, arguments: dict[str, Any], result: LongResult) -> list[str]:
    """Files, as they are shown, that hold a text by now that the result is not about."""
    bench = workbench(lab, _problem(arguments, result))
    judged, restored = result.texts, getattr(result, "restored", None)
    now = {lab.shown(path): text for path, text in _held(bench, _named(arguments))}
    return [path for path, text in now.items() if text not in judged and path != restored]


def _problem(arguments: dict[str, Any], result: LongResult) -> str:
    """Of a call that opens a problem, the one that it opened."""
    return str(arguments.get("problem") or getattr(result, "problem", ""))


def _named(arguments: dict[str, Any]) -> list[str | None]:
    """The kernel files that a call names; None stands for the problem's own."""
    if "kernels" in arguments:
        kernels = [getattr(kernel, "kernel", kernel) for kernel in arguments["kernels"]]
        return [kernel for kernel in kernels if not evaluating.is_source(kernel)]
    if "reference" in arguments:
        return [None]
    if "source" in arguments and arguments["source"] is None:
        return [arguments.get("kernel_path")]
    return []


def _held(bench: Workbench, paths: Iterable[str | None]) -> Iterator[tuple[Path, str]]:
    """Each file with the digest of its text, except those that cannot be read."""
    for kernel_path in paths:
        with suppress(AnvilError):
            path = given.path(bench, kernel_path)
            yield path, digest(working_file.read(path))
