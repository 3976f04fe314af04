"""From a plain async function to an MCP tool: strict arguments, progress, detaching, errors that teach."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any, cast

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import Tool as MCPTool
from mcp_types import ToolAnnotations
from pydantic import Field

from nki_anvil.backends import errand, room
from nki_anvil.backends.errand import Errand
from nki_anvil.backends.errors import AnvilError
from nki_anvil.tools import logbook
from nki_anvil.tools.arguments import published, strict
from nki_anvil.tools.call import Call
from nki_anvil.tools.declaration import Declaration, Function
from nki_anvil.tools.desk import Desk
from nki_anvil.tools.pending import Detached
from nki_anvil.tools.result import LongResult, Result
from nki_anvil.tools.since import outdated, since_then
from nki_anvil.tools.telling import telling

DETACH = inspect.Parameter(
    "detach",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        Field(description="Answer at once with pending: true; the same call later returns progress or the result."),
    ],
)


_CALLS = count(1)


@dataclass(frozen=True, kw_only=True)
class Published:
    """One tool as MCP knows it."""

    tool: Tool

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def parameters(self) -> list[str]:
        return list(self.tool.parameters["properties"])

    @property
    def wire(self) -> MCPTool:
        """As it stands in the list of tools."""
        return MCPTool(
            name=self.tool.name,
            title=self.tool.title,
            description=self.tool.description,
            input_schema=self.tool.parameters,
            output_schema=self.tool.output_schema,
            annotations=self.tool.annotations,
        )


def publish(declared: Declaration) -> Published:
    """A long one takes ``detach`` besides its own parameters. None reaches beyond workspace and backend."""
    hints = ToolAnnotations(
        title=declared.title,
        read_only_hint=declared.read_only,
        destructive_hint=declared.destructive,
        idempotent_hint=declared.idempotent,
        open_world_hint=False,
    )
    function = declared.function
    tool = Tool.from_function(
        _published(function, long=declared.long),
        name=function.__name__,
        title=declared.title,
        description=inspect.cleandoc(function.__doc__ or ""),
        context_kwarg="ctx",
        annotations=hints,
        structured_output=True,
    )
    tool.fn_metadata = strict(tool.fn_metadata)
    tool.parameters = published(tool.fn_metadata)
    return Published(tool=tool)


def _published(function: Function, *, long: bool) -> Callable[..., Awaitable[Result]]:
    """The function as the SDK calls it: with a Context for its Call, and ``detach`` where it is long."""
    signature = inspect.signature(function, eval_str=True)
    _, *own = signature.parameters.values()
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context[Desk])
    own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]

    async def run(ctx: Context[Desk], detach: bool = False, **arguments: Any) -> Result:
        try:
            desk = ctx.request_context.lifespan_context
            with _errand(function.__name__, ctx, arguments), room.told(), logbook.noted(), desk.occupied():
                if not long:
                    return await function(Call(desk), **arguments)
                result = await _Running(function, ctx, arguments).result(detach=detach)
                return await since_then(desk, arguments, result)
        except AnvilError as error:
            raise ToolError(error.text) from error

    parameters = [context, *own, *([DETACH] if long else [])]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _errand(tool: str, ctx: Context[Desk], arguments: dict[str, Any]) -> AbstractContextManager[Errand]:
    """Whose call it is. A client without a session is known by its name: its calls still share fairly."""
    said = ctx.request_context.session.client_params
    session = (ctx.headers or {}).get("mcp-session-id", "")[:8]
    client = f"{said.client_info.name if said else ''} {session}".strip()[:80]
    problem = str(arguments.get("problem") or "")
    return errand.on(client=client, tool=tool, call=str(next(_CALLS)), problem=problem)


class _Running:
    """One call of one tool."""

    def __init__(self, function: Function, ctx: Context[Desk], arguments: dict[str, Any]) -> None:
        self._function = function
        self._ctx = ctx
        self._arguments = arguments
        self._desk = ctx.request_context.lifespan_context

    async def result(self, *, detach: bool) -> LongResult:
        begun = self._desk.pending.find(self._key)
        answer = await self._fetched(begun, detach=detach) if begun else None
        if answer is not None:
            return answer
        if detach:
            return self._still(self._desk.pending.start(self._key, self._work))
        async with telling(self._send) as report:
            return await self._work(report)

    async def _fetched(self, begun: Detached, *, detach: bool) -> LongResult | None:
        """What a detached call found, or how it goes; None where what it found is no answer any more."""
        if not detach:
            async with telling(self._send) as report:
                await begun.follow(report)
        if not begun.done.is_set():
            return self._still(begun)
        found = cast(LongResult, self._desk.pending.collect(self._key, begun))
        return None if await outdated(self._desk, self._arguments, found) else found

    async def _work(self, report: Callable[[str], Awaitable[None]]) -> LongResult:
        return cast(LongResult, await self._function(Call(self._desk, report), **self._arguments))

    async def _send(self, progress: float, message: str) -> None:
        await self._ctx.report_progress(progress, None, message)

    def _still(self, detached: Detached) -> LongResult:
        model = cast(type[LongResult], inspect.signature(self._function, eval_str=True).return_annotation)
        seconds = self._desk.pending.seconds(detached)
        return model(
            summary=f"Still running after {seconds:.0f} s: {detached.said}.",
            next_steps=[f"Call {self._function.__name__} again with the same arguments for progress or the result."],
            pending=True,
        )

    @property
    def _key(self) -> str:
        arguments = json.dumps(self._arguments, sort_keys=True, default=str)
        return f"{self._function.__name__} {arguments}"
