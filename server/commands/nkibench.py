"""AccelOpt's benchmark from the user's own checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
import typer

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.server.commands.exits import PASSED, REJECTED
from nki_anvil.server.commands.line import app
from nki_anvil.server.console import Console


@app.command()
def nkibench(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="NKIBench folder of an AccelOpt checkout, with its summary.json.")],
    task: Annotated[list[str] | None, typer.Option(help="Only this task; may be given again.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Draws for each task; --full makes its own.")] = 1,
    chip: Annotated[str, typer.Option(help="trn1 or trn2.")] = "trn2",
    full: Annotated[bool, typer.Option("--full", help="Through every gate of a verification.")] = False,
    processes: Annotated[int, typer.Option(min=1, help="Tasks at a time.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run NKIBench's kernels on the simulator. Tells values, speed against NumPy, modelled latency, share of peak."""
    from nki_anvil.lab.nkibench import suite
    from nki_anvil.lab.nkibench.results import HEAD
    from nki_anvil.sim.chips import CHIPS

    if chip not in CHIPS:
        raise ArgumentsInvalid(f"There is no chip {chip!r}.", f"Known are {', '.join(CHIPS)}.")
    console = Console(as_json=True) if as_json else context.obj.console
    if not as_json:
        console.line(HEAD)
    with context.obj.aside(), console.progress() as report:
        found = anyio.run(suite.run, folder, tuple(task or ()), seeds, chip, full, processes, report, console.line)
    if as_json or found.foot:
        console.tell(found if as_json else found.foot)
    raise typer.Exit(PASSED if found else REJECTED)
