"""A kernel while it is being written."""

from __future__ import annotations

from typing import Annotated

import typer

from nki_anvil.server.commands.exits import PASSED, REJECTED
from nki_anvil.server.commands.line import app
from nki_anvil.server.commands.options import Json, Kernel, Problem, text
from nki_anvil.server.terminal import Terminal


@app.command()
def watch(
    context: typer.Context,
    problem: Problem = None,
    kernel: Kernel = None,
    full: Annotated[bool, typer.Option("--full", help="All nine gates at every save, not only at Enter.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Look once and end: exit status 1 where it is wrong.")] = False,
    as_json: Json = False,
) -> None:
    """Look at a kernel at every save; Enter runs all nine gates. A look: language, machine rules, two cases."""
    from nki_anvil.server import watching

    terminal: Terminal = context.obj
    right = terminal.use(
        problem,
        lambda desk, name: watching.watch(desk, terminal.console, name, text(kernel), once=once, full=full),
    )
    raise typer.Exit(PASSED if right else REJECTED)
