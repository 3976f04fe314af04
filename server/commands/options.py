"""Arguments and options that several commands share."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from nki_anvil.server.console import Console


def open_problems(context: typer.Context, incomplete: str) -> list[str]:
    """For a shell: reads the names of folders and loads nothing else."""
    outermost = context.find_root().params
    folder = Path(outermost.get("workspace") or ".") / ".nki-anvil" / "problems"
    return sorted(path.name for path in folder.glob("*") if path.name.startswith(incomplete))


def references(incomplete: str) -> list[str]:
    """For a shell: the seeds, and files."""
    seeds = [f"seed:{folder.name}" for folder in files("nki_anvil.seeds").joinpath("problems").iterdir()]
    return sorted(name for name in seeds if name.startswith(incomplete))


Problem = Annotated[
    str | None,
    typer.Argument(help="Open problem; may be left out where only one is open.", autocompletion=open_problems),
]
Kernel = Annotated[Path | None, typer.Option("--kernel", "-k", help="Kernel file; default: the problem's own.")]
Plan = Annotated[str | None, typer.Option(help="What this kernel tries; kept with the attempt.")]


def _as_json(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.obj.console = Console(as_json=True)


Json = Annotated[bool, typer.Option("--json", callback=_as_json, help="Print the result as JSON.")]


def text(path: Path | None) -> str | None:
    return None if path is None else str(path)
