"""What the working file holds in this moment, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nki_anvil.lab import working_file
from nki_anvil.lab.digest import digest
from nki_anvil.lab.workbench import Workbench

FileState = Literal["best", "verified", "failed", "unverified", "missing"]


@dataclass(frozen=True)
class Held:
    state: FileState
    digest: str | None
    """Of its text; None where there is none."""


def held(bench: Workbench) -> Held:
    """Raises PathUnreadable for what is no text."""
    path = bench.problem.working_file
    if not path.is_file():
        return Held("missing", None)
    found, best = digest(working_file.read(path)), bench.best()
    if best and best.digest == found:
        return Held("best", found)
    attempt = bench.problem.attempts.of(found)
    verdict = bench.verdict(attempt) if attempt else None
    return Held("unverified" if verdict is None else "verified" if verdict.passed else "failed", found)
