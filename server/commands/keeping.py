"""What is kept of a problem: reported, audited, exported, cleaned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nki_anvil.server.commands.exits import PASSED, REJECTED, UNDECIDED
from nki_anvil.server.commands.line import app
from nki_anvil.server.commands.options import Json, Problem
from nki_anvil.server.console import Console
from nki_anvil.server.terminal import Terminal

if TYPE_CHECKING:
    from nki_anvil.tools.desk import Desk


@app.command()
def audit(
    context: typer.Context,
    problem: Annotated[str | None, typer.Argument(help="Problem, or an evidence file that finish wrote.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Make every stored decision again from its raw samples. Exit status 1 where one does not follow from them, or
    where a kernel of the evidence failed since; 4 where a file agrees with itself and nothing here confirms it."""
    from nki_anvil.lab import auditing

    terminal: Terminal = context.obj
    terminal.console = Console(as_json=True) if as_json else terminal.console
    if problem is not None and Path(problem).suffix == ".json":
        audited = terminal.do(lambda lab: auditing.audit_evidence(Path(problem), lab.data))
    else:
        audited = terminal.do(lambda lab: auditing.audit(lab, terminal.only(lab, problem)))
    if not audited.clean or audited.outdated:
        raise typer.Exit(REJECTED)
    raise typer.Exit(PASSED if audited.confirmed else UNDECIDED)


@app.command()
def report(
    context: typer.Context,
    problem: Problem = None,
    opened: Annotated[bool, typer.Option("--open", help="Show it in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Write the report as things stand now; measure nothing."""
    from nki_anvil.server import reporting

    terminal: Terminal = context.obj
    written = terminal.do(lambda lab: reporting.report(lab, terminal.only(lab, problem)))
    if opened:
        typer.launch(written.path)


@app.command()
def export(
    context: typer.Context,
    problem: Problem = None,
    to: Annotated[Path | None, typer.Option(help="File for the kernel; default <problem>.best.py.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that holds something else.")] = False,
    as_json: Json = False,
) -> None:
    """Write the best kernel to a file; an older verdict is made anew. Prints how it differs from the working file."""
    from nki_anvil.server import exporting
    from nki_anvil.tools.call import Call
    from nki_anvil.tools.crediting import taking_back, withdrawn

    terminal: Terminal = context.obj

    async def work(desk: Desk, name: str) -> str:
        call = Call(desk)
        async with taking_back(call, name):
            with terminal.console.progress() as report:
                said = await exporting.export(await desk.laboratory(), name, to, force=force, report=report)
        return "\n".join(filter(None, [said, await withdrawn(call, name)]))

    terminal.console.tell(terminal.use(problem, work))


@app.command()
def clean(
    context: typer.Context,
    days: Annotated[float, typer.Option(help="Remove artefacts older than this.")] = 14.0,
    megabytes: Annotated[float, typer.Option(help="Then the oldest, until this much is left.")] = 1024.0,
    as_json: Json = False,
) -> None:
    """Remove compiled files, timelines and old logs. Attempts are never removed."""
    from nki_anvil.server import cleaning

    terminal: Terminal = context.obj
    terminal.do(lambda lab: cleaning.clean(lab, days, megabytes))
