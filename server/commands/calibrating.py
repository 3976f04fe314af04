"""Fitting the performance model to a host."""

from __future__ import annotations

from typing import Annotated

import typer

from nki_anvil.server.commands.line import app
from nki_anvil.server.commands.options import Json
from nki_anvil.server.terminal import Terminal


@app.command()
def calibrate(
    context: typer.Context,
    host: Annotated[str, typer.Argument(help="A host of the setting hosts, or a backend's name.")],
    rounds: Annotated[int, typer.Option(min=1, help="Processes per microkernel.")] = 2,
    chip: Annotated[str, typer.Option(help="What the host has: trn1, trn2 or trn3.")] = "trn2",
    as_json: Json = False,
) -> None:
    """Fit the performance model to a host. Microkernels are timed there; the constants are kept per host."""
    from nki_anvil.server import fitting

    terminal: Terminal = context.obj
    terminal.console.tell(fitting.calibrate(terminal.given, terminal.console, host, chip, rounds))
