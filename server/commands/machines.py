"""What machines offer."""

from __future__ import annotations

import typer

from nki_anvil.server.commands.exits import BACKEND, PASSED
from nki_anvil.server.commands.line import app
from nki_anvil.server.commands.options import Json


@app.command()
def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Say what this machine offers: protections of the kernel process, folders, versions."""
    from nki_anvil.server import doctoring

    healthy = context.obj.do(doctoring.examine)
    raise typer.Exit(PASSED if healthy else BACKEND)
