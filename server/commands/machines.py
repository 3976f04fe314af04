"""What machines offer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from nki_anvil.server.commands.exits import BACKEND, PASSED, REJECTED
from nki_anvil.server.commands.line import app
from nki_anvil.server.commands.options import Json
from nki_anvil.server.terminal import Terminal

Host = Annotated[str, typer.Argument(help="[user@]host[:port], a name of ~/.ssh/config, or local.")]


@app.command()
def doctor(
    context: typer.Context,
    host: Annotated[str | None, typer.Argument(help="A host to look at, or ray; without: this machine.")] = None,
    as_json: Json = False,
) -> None:
    """Say what this machine or a host offers and what it lacks. And how to get what is missing."""
    if host is not None:
        _tell(context, lambda terminal: _hosts().doctor(terminal.given, host))
    from nki_anvil.server import doctoring

    healthy = context.obj.do(doctoring.examine)
    raise typer.Exit(PASSED if healthy else BACKEND)


@app.command()
def setup(context: typer.Context, host: Host, as_json: Json = False) -> None:
    """Install the worker on a host and find its Pythons. Prints what belongs into nki-anvil.toml."""
    _tell(context, lambda terminal: _hosts().setup(terminal.given, host))


@app.command()
def selftest(
    context: typer.Context,
    host: Host,
    to: Annotated[Path, typer.Option(help="Folder for the two reports.")] = Path(),
    as_json: Json = False,
) -> None:
    """Test on a host all that is assumed about it. Writes a report to send back."""
    _tell(context, lambda terminal: _hosts().selftest(terminal.given, terminal.console, host, to))


def _hosts() -> Any:
    from nki_anvil.server import hosts

    return hosts


def _tell(context: typer.Context, look: Callable[[Terminal], Any]) -> NoReturn:
    terminal: Terminal = context.obj
    found = look(terminal)
    terminal.console.tell(found)
    raise typer.Exit(PASSED if found else BACKEND)


@app.command()
def noise(
    context: typer.Context,
    host: Annotated[str, typer.Argument(help="A host of the setting hosts, or a backend's name.")],
    chip: Annotated[str, typer.Option(help="What the host has: trn1, trn2 or trn3.")] = "trn2",
    as_json: Json = False,
) -> None:
    """Measure how much a kernel differs from itself on a host. That decides what gain is kept there."""
    from nki_anvil.server import rig

    terminal: Terminal = context.obj
    found = rig.noise(terminal.given, terminal.console, host, chip)
    terminal.console.tell(found)
    raise typer.Exit(REJECTED if found.biased else PASSED)
