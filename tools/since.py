"""What a long call found, and that its file holds another text by now where it does: people edit while they wait."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync

from nki_anvil.backends.errors import AnvilError
from nki_anvil.lab import given, working_file
from nki_anvil.lab.digest import digest
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.workbench import workbench
from nki_anvil.tools.desk import Desk
from nki_anvil.tools.result import Result


async def since_then(desk: Desk, arguments: dict[str, Any], result: Result) -> Result:
    """The result as it is, unless it is about the text of a file that changed since the call read it."""
    judged, restored = getattr(result, "digest", None), getattr(result, "restored", None)
    if judged is None or restored or arguments.get("source") is not None:
        return result
    lab = await desk.laboratory()
    path, now = await run_sync(partial(_holds, lab, arguments["problem"], arguments.get("kernel_path")))
    if now in (None, judged):
        return result
    said = f"{lab.shown(path)} was edited since this call read it: this says nothing of what it holds now."
    steps = [f"verify_kernel: judge what {lab.shown(path)} holds now.", *result.next_steps]
    return result.model_copy(update={"summary": f"{result.summary} {said}", "next_steps": steps})


def _holds(lab: Laboratory, problem: str, kernel_path: str | None) -> tuple[Path, str | None]:
    """The file that was meant, and the digest of its text; None where it cannot be read."""
    try:
        path = given.path(workbench(lab, problem), kernel_path)
        return path, digest(working_file.read(path))
    except AnvilError:
        return Path(), None
