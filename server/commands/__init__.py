"""The command line: the same functions as the tools, for people and scripts."""

from __future__ import annotations

from nki_anvil.backends.errors import AnvilError
from nki_anvil.server.commands import calibrating, corpora, keeping, kernels, machines, nkibench, remembering, watching
from nki_anvil.server.commands.exits import status_of
from nki_anvil.server.commands.line import app
from nki_anvil.server.console import Console

__all__ = [
    "app",
    "calibrating",
    "corpora",
    "keeping",
    "kernels",
    "machines",
    "nkibench",
    "remembering",
    "run",
    "watching",
]


def run() -> None:
    """Runs the command line and exits with its status, as ``exits`` names them."""
    try:
        app()
    except AnvilError as error:
        Console.complain(error.text)
        raise SystemExit(status_of(error)) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None
