"""The simulator against kernels and simulators of other people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nki_anvil.server.commands.exits import PASSED, REJECTED
from nki_anvil.server.commands.line import app
from nki_anvil.server.console import Console


@app.command()
def corpus(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder with kernels of the current dialect.")],
    match: Annotated[str, typer.Option(help="Only files, kernels or file:kernel like this.")] = "*",
    statements: Annotated[Path | None, typer.Option(help="corpus.toml; default: the folder's own.")] = None,
    python: Annotated[str, typer.Option(help="Python that runs the kernels, where references need one.")] = "",
    seconds: Annotated[float, typer.Option(help="Time for each process.")] = 120.0,
    processes: Annotated[int, typer.Option(help="Processes at a time.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Compare a folder's kernels with their references. It runs the folder's code as you."""
    from nki_anvil.backends.corpus.child import Bounds
    from nki_anvil.lab.corpus.survey import survey

    console: Console = Console(as_json=True) if as_json else context.obj.console
    with context.obj.aside():
        found = survey(
            folder,
            statements=statements,
            match=match,
            python=python,
            bounds=Bounds(seconds=seconds),
            processes=processes,
            tell=console.line,
        )
    console.tell(found)
    raise typer.Exit(PASSED if found else REJECTED)


@app.command()
def simcheck(
    context: typer.Context,
    kernel: Annotated[Path, typer.Argument(help="Kernel file beside a corpus.toml, problem folder, or seed:NAME.")],
    entry: Annotated[str, typer.Option(help="Only this kernel of the file.")] = "",
    statements: Annotated[Path | None, typer.Option(help="corpus.toml; default: the one beside the file.")] = None,
    vendor_python: Annotated[
        str, typer.Option(envvar="NKI_ANVIL_VENDOR_PYTHON", help="Python that has the vendor's nki package.")
    ] = "",
    seconds: Annotated[float, typer.Option(help="Time for each process.")] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Compare this simulator with the vendor's, on the same inputs."""
    from nki_anvil.backends.corpus.child import Bounds
    from nki_anvil.lab.corpus.twins import compare

    bounds = Bounds(seconds=seconds)
    with context.obj.aside():
        found = compare(kernel, entry=entry, statements=statements, vendor_python=vendor_python, bounds=bounds)
    (Console(as_json=True) if as_json else context.obj.console).tell(found)
    raise typer.Exit(PASSED if found else REJECTED)
