"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nki_anvil.server.console import Console

Problem = Annotated[str | None, typer.Argument(help="Open problem; may be left out where only one is open.")]
Kernel = Annotated[Path | None, typer.Option("--kernel", "-k", help="Kernel file; default: the problem's own.")]
Plan = Annotated[str | None, typer.Option(help="What this kernel tries; kept with the attempt.")]


def _as_json(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.obj.console = Console(as_json=True)


Json = Annotated[bool, typer.Option("--json", callback=_as_json, help="Print the result as JSON.")]


def text(path: Path | None) -> str | None:
    return None if path is None else str(path)
