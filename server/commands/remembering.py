"""The memory: asked, written to a file that a team can review, and read from one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nki_anvil.server.commands.exits import PASSED, REJECTED
from nki_anvil.server.commands.line import app
from nki_anvil.server.commands.options import Json
from nki_anvil.server.terminal import Terminal

memory = typer.Typer(help="Ask the memory, export it, import into it.", no_args_is_help=True)
app.add_typer(memory, name="memory")


@memory.command()
def query(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(help="What you look for.")] = None,
    problem: Annotated[str | None, typer.Option(help="Open problem: adds its situation and its reflexions.")] = None,
    bottleneck: Annotated[str | None, typer.Option(help="bound_by or a gap's name, from profile.")] = None,
    op_family: Annotated[str | None, typer.Option(help="matmul, norm, softmax ...")] = None,
    kind: Annotated[str | None, typer.Option(help="speedup, pitfall or fact.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=20, help="Experiences to show.")] = 5,
    as_json: Json = False,
) -> None:
    """Ask what helped or hurt kernels like this before."""
    from nki_anvil.tools.query_memory import query_memory

    named = {} if problem is None else {"problem": problem}
    context.obj.call(
        query_memory, text=text, bottleneck=bottleneck, op_family=op_family, kind=_kind(kind), limit=limit, **named
    )


def _kind(kind: str | None) -> str | None:
    if kind not in (None, "speedup", "pitfall", "fact"):
        raise typer.BadParameter(f"{kind!r} is none of speedup, pitfall, fact.", param_hint="--kind")
    return kind


@memory.command("export")
def export_(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="JSON Lines file to write.")],
    as_json: Json = False,
) -> None:
    """Write every active experience with its evidence, sorted by id."""
    from nki_anvil.server import exchanging

    terminal: Terminal = context.obj
    terminal.remember(lambda store: exchanging.export(store, path), settle=True)


@memory.command("import")
def import_(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="JSON Lines of an export, or AccelOpt's list of rewrites.")],
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Believe its numbers and where they come from: you vouch for it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Take in experiences. Without --trusted their numbers are not believed."""
    from nki_anvil.server import exchanging

    terminal: Terminal = context.obj
    taken = terminal.remember(lambda store: exchanging.take_in(store, path, trusted=trusted))
    raise typer.Exit(REJECTED if taken.refused else PASSED)
