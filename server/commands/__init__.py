"""The command line: the same functions as the tools, for people and scripts."""

from __future__ import annotations

from nki_anvil.server.commands import calibrating, corpora, keeping, kernels, machines, nkibench, remembering, watching
from nki_anvil.server.commands.line import app

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
    except KeyboardInterrupt:
        raise SystemExit(130) from None
