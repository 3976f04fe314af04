"""``nki-anvil doctor``: what this machine offers, and what its lack means."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from pydantic import BaseModel

from nki_anvil.backends.worker.isolation import describe
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.server.version import VERSION


class Wall(BaseModel):
    """One protection of the kernel process."""

    name: str
    active: bool
    detail: str


class Health(BaseModel):
    """The state of this machine."""

    version: str
    python: str
    system: str
    workspace: str
    workspace_writable: bool
    data: str
    data_writable: bool
    backends: list[str]
    protections: list[Wall]

    def __bool__(self) -> bool:
        return self.workspace_writable and self.data_writable

    def __str__(self) -> str:
        walls = [f"  {'yes' if wall.active else 'NO '}  {wall.name}: {wall.detail}" for wall in self.protections]
        folders = [
            f"workspace  {self.workspace}{'' if self.workspace_writable else '  NOT WRITABLE'}",
            f"data       {self.data}{'' if self.data_writable else '  NOT WRITABLE'}",
        ]
        head = [f"nki-anvil {self.version}, Python {self.python}, {self.system}", *folders]
        return "\n".join(
            [*head, f"backends   {', '.join(self.backends)}", "protections of the kernel process:", *walls]
        )


def examine(lab: Laboratory) -> Health:
    return Health(
        version=VERSION,
        python=platform.python_version(),
        system=platform.platform(terse=True),
        workspace=str(lab.workspace),
        workspace_writable=_writable(lab.workspace),
        data=str(lab.data),
        data_writable=_writable(lab.data),
        backends=sorted(lab.backends),
        protections=[Wall(name=wall.name, active=wall.active, detail=wall.detail) for wall in describe()],
    )


def _writable(folder: Path) -> bool:
    """Whether files can be written there; a folder that is not there yet is judged by the nearest that is."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return os.access(existing, os.W_OK)
