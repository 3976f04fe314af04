"""``nki-anvil report``: the report of a problem as it stands; nothing is measured for it."""

from __future__ import annotations

from pydantic import BaseModel

from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.report import page
from nki_anvil.lab.workbench import workbench


class Written(BaseModel):
    path: str

    def __str__(self) -> str:
        return f"Report: {self.path}  (open it in a browser)"


def report(lab: Laboratory, problem: str) -> Written:
    """Raises the errors of problems and state."""
    return Written(path=str(page.write(workbench(lab, problem))))
