"""The command line itself; the commands stand beside it, a file for each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from nki_anvil.backends import room
from nki_anvil.backends.errors import AnvilError
from nki_anvil.server.commands.exits import status_of
from nki_anvil.server.console import Console
from nki_anvil.server.terminal import Terminal
from nki_anvil.server.version import VERSION

FIRST = ("serve", "open", "profile", "watch", "verify", "benchmark", "status", "revert", "reflect", "finish", "report")
"""In the list of commands: the main job in its order; the others follow."""


class MainJobFirst(TyperGroup):
    """Lists the main job's commands first, and ends every command that is refused with its reason and exit status."""

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))

    def invoke(self, ctx: Any) -> Any:
        try:
            with room.told():
                return super().invoke(ctx)
        except AnvilError as error:
            console, problem = (ctx.obj.console, ctx.obj.problem) if ctx.obj else (Console(), None)
            console.refuse(error, problem)
            raise typer.Exit(status_of(error)) from error


app = typer.Typer(
    name="nki-anvil",
    cls=MainJobFirst,
    help="Make NKI kernels for AWS Trainium faster, while nothing wrong gets through.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    workspace: Annotated[Path | None, typer.Option(help="Folder with the kernels; default: this one.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the memory and the hidden cases.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Without a command: serve over stdio."""
    if version:
        print(VERSION)  # noqa: T201
        raise typer.Exit
    context.obj = Terminal(Console(as_json=as_json), {"workspace": workspace, "data": data})
    if context.invoked_subcommand is None:
        serve(context)


@app.command()
def serve(
    context: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP instead of stdio.")] = False,
    host: Annotated[str | None, typer.Option(help="Address; other than loopback only with a token.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; default 8765.")] = None,
    token: Annotated[str | None, typer.Option(help="Bearer token; better given as NKI_ANVIL_TOKEN.")] = None,
) -> None:
    """Serve MCP clients, over stdio or HTTP."""
    given: dict[str, Any] = context.obj.given
    if http:
        from nki_anvil.server import http as over_http

        over_http.serve(**given, host=host, port=port, token=token)
    else:
        from nki_anvil.server import stdio

        stdio.serve(**given)
