"""What machines offer."""

from __future__ import annotations

from typing import Annotated

import typer

from nki_anvil.server.commands.exits import BACKEND, PASSED, REJECTED
from nki_anvil.server.commands.line import app
from nki_anvil.server.commands.options import Json
from nki_anvil.server.terminal import Terminal


@app.command()
def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Say what this machine offers: protections of the kernel process, folders, versions."""
    from nki_anvil.server import doctoring

    healthy = context.obj.do(doctoring.examine)
    raise typer.Exit(PASSED if healthy else BACKEND)


@app.command()
def noise(
    context: typer.Context,
    host: Annotated[str, typer.Argument(help="A host of the setting hosts, or a backend's name.")],
    chip: Annotated[str, typer.Option(help="What the host has: trn1, trn2 or trn3.")] = "trn2",
    as_json: Json = False,
) -> None:
    """Measure how much a kernel differs from itself on a host, which decides what gain is kept there."""
    from nki_anvil.server import rig

    terminal: Terminal = context.obj
    found = rig.noise(terminal.given, terminal.console, host, chip)
    terminal.console.tell(found)
    raise typer.Exit(REJECTED if found.biased else PASSED)
