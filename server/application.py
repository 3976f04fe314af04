"""The MCP server: its name, version and instructions, and what it serves, loaded when a client first asks for it.

`initialize` needs none of the tools, resources and prompts: the first reply does not wait for NumPy.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from anyio import CancelScope, Lock, to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError, UnexpectedToolError
from mcp.server.subscriptions import SubscriptionBus
from mcp_types import (
    CallToolResult,
    Completion,
    CompletionArgument,
    CompletionContext,
    GetPromptResult,
    InputRequiredResult,
    Prompt,
    PromptReference,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
    Tool,
)
from pydantic import ValidationError

from nki_anvil.server.instructions import INSTRUCTIONS
from nki_anvil.server.version import VERSION
from nki_anvil.tools.desk import Desk

if TYPE_CHECKING:
    from mcp.server.lowlevel.helper_types import ReadResourceContents
    from pydantic import AnyUrl

    from nki_anvil.tools.publication import Published


class Application(MCPServer[Desk]):
    """nki-anvil as MCP sees it."""

    def __init__(self, desk: Desk, bus: SubscriptionBus) -> None:
        self._desk = desk
        self._catalogue: dict[str, Published] = {}
        self._loading = Lock()
        with _without("rich.console"):
            super().__init__(
                "nki-anvil",
                title="nki-anvil",
                instructions=INSTRUCTIONS,
                version=VERSION,
                lifespan=self._lent,
                subscriptions=bus,
                log_level="INFO",
            )
        self.completion()(self._complete)

    async def list_tools(self) -> list[Tool]:
        return [declared.wire for declared in (await self._loaded()).values()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Desk, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Raises ToolError with what happened, what to do next and a code; never a bare "error executing tool"."""
        catalogue = await self._loaded()
        if name not in catalogue:
            raise ToolError(f"There is no tool {name!r}, only {', '.join(catalogue)}. [arguments.invalid]")
        try:
            return await catalogue[name].tool.run(arguments, context or Context(mcp_server=self), convert_result=True)
        except UnexpectedToolError as error:
            raise UnexpectedToolError(_unexpected(name, error.__cause__)) from error.__cause__
        except ToolError as error:
            raise ToolError(_expected(catalogue[name], error)) from error.__cause__

    async def list_resources(self) -> list[Resource]:
        await self._loaded()
        return await super().list_resources()

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        await self._loaded()
        return await super().list_resource_templates()

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Desk, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Raises ResourceNotFoundError, which names the index where the address leads nowhere."""
        await self._loaded()
        try:
            return await super().read_resource(uri, context)
        except ResourceNotFoundError as error:
            if not str(error).startswith("Unknown resource"):
                raise
            raise ResourceNotFoundError(
                f"There is no resource {uri}: anvil://index lists them. [arguments.invalid]"
            ) from error

    async def list_prompts(self) -> list[Prompt]:
        await self._loaded()
        return await super().list_prompts()

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Desk, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Raises MCPError where the prompt or its arguments are not those that there are."""
        from nki_anvil.server.asking import check

        check(await self.list_prompts(), name, arguments or {})
        return await super().get_prompt(name, arguments, context)

    async def _complete(
        self,
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        await self._loaded()
        from nki_anvil.server.completing import complete

        return await complete(self._desk, argument, context)

    def _lent(self, _: MCPServer[Desk]) -> AbstractAsyncContextManager[Desk]:
        @asynccontextmanager
        async def lend() -> AsyncGenerator[Desk]:
            try:
                yield self._desk
            finally:
                with CancelScope(shield=True):
                    await self._desk.close()

        return lend()

    async def _loaded(self) -> dict[str, Published]:
        async with self._loading:
            if not self._catalogue:
                self._catalogue = await to_thread.run_sync(self._load)
        return self._catalogue

    def _load(self) -> dict[str, Published]:
        from nki_anvil.server import prompts, resources
        from nki_anvil.tools.catalogue import TOOLS

        resources.add_to(self, self._desk)
        prompts.add_to(self, self._desk)
        settle()
        return {declared.name: declared for declared in TOOLS}


@cache
def settle() -> None:
    """Once a process: else full collections look at every module's objects, and the loop stands still."""
    gc.freeze()


def _expected(declared: Published, error: ToolError) -> str:
    """The tool's own words, without the SDK's prefix; a refusal of the arguments in words of ours."""
    from nki_anvil.tools.arguments import refusal

    cause = error.__cause__
    if isinstance(cause, ValidationError):
        return refusal(declared.name, cause, declared.parameters).text
    return str(cause if isinstance(cause, ToolError) else error)


def _unexpected(name: str, cause: BaseException | None) -> str:
    return (
        f"{name} failed inside nki-anvil itself ({type(cause).__name__}); nothing that was judged before is lost. "
        "The traceback is in .nki-anvil/logs/server.log; the same call may work again. [internal]"
    )


@contextmanager
def _without(module: str) -> Generator[None]:
    """Hides `module` from the SDK, which would load rich for a log format that is not ours."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]
