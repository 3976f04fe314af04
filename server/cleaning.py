"""``nki-anvil clean``: removes what can be made again, by age and then by size. Attempts are never touched."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from nki_anvil.lab import state
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.tools.wording import count

ARTEFACTS: Final = ("*.neff", "*.ntff", "logs/*.log*", "problems/*/profiled/*/timeline.*.json")
"""Of the state folder: compiled kernels, captured profiles, logs, timelines of kernels that are no attempt."""
DAY_S: Final = 86400.0


def clean(lab: Laboratory, days: float, megabytes: float) -> str:
    """Removes artefacts older than `days`, then the oldest until `megabytes` are left. Returns what was done."""
    now = lab.clock().timestamp()
    found = sorted(artefacts(lab.root), key=lambda path: path.stat().st_mtime)
    old = [path for path in found if now - path.stat().st_mtime > days * DAY_S]
    kept = [path for path in found if path not in set(old)]
    removed = old + _beyond(kept, int(megabytes * 1e6))
    freed = sum(path.stat().st_size for path in removed)
    for path in removed:
        path.unlink(missing_ok=True)
    if not removed:
        return f"Nothing to remove: {count(len(found), 'artefact')} within age and size."
    return f"Removed {len(removed)} of {count(len(found), 'artefact')}, {freed / 1e6:.1f} MB."


def artefacts(root: Path) -> set[Path]:
    """Every file that can be made again; through a link there are none of ours."""
    patterns = [pattern if "/" in pattern else f"**/{pattern}" for pattern in ARTEFACTS]
    return {path for pattern in patterns for path in root.glob(pattern) if path.is_file() and state.is_own(path)}


def _beyond(oldest_first: list[Path], allowed: int) -> list[Path]:
    """The oldest, so that the others take up no more than is allowed."""
    total = sum(path.stat().st_size for path in oldest_first)
    beyond: list[Path] = []
    for path in oldest_first:
        if total <= allowed:
            break
        total -= path.stat().st_size
        beyond.append(path)
    return beyond
