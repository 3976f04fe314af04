"""What can be read under ``anvil://``: state of the workspace, experiences, guides. Reading changes nothing."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any, ParamSpec

from anyio import to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from nki_anvil.backends.errors import AnvilError, AttemptUnknown, MemoryInvalid, ProblemUnknown
from nki_anvil.server import guides, shelf
from nki_anvil.tools.call import Call
from nki_anvil.tools.crediting import settled
from nki_anvil.tools.desk import Desk

P = ParamSpec("P")
JSON, MARKDOWN, KERNEL, HTML = "application/json", "text/markdown", "text/x-python", "text/html"
NOT_THERE = (ProblemUnknown, AttemptUnknown, MemoryInvalid, FileNotFoundError)


def add_to(server: MCPServer[Desk], desk: Desk) -> None:
    """Publishes every resource and template of the catalogue."""
    catalogue = Catalogue(desk)
    for uri, title, mime, read in catalogue.entries():
        server.resource(uri, name=_name(uri), title=title, description=read.__doc__, mime_type=mime)(_told(read))
    for topic in guides.topics():
        server.resource(
            f"anvil://guides/{topic}",
            name=f"guide-{topic}",
            title=guides.title(topic),
            description=f"Guide: {guides.title(topic)}.",
            mime_type=MARKDOWN,
        )(partial(guides.text, topic))


class Catalogue:
    """The resources of one desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def entries(self) -> list[tuple[str, str, str, Callable[..., Awaitable[str]]]]:
        problem = "anvil://problems/{problem}"
        return [
            ("anvil://index", "Index", MARKDOWN, self.index),
            ("anvil://problems", "Problems", JSON, self.problems),
            (problem, "Problem", JSON, self.problem),
            (f"{problem}/best", "Best kernel", KERNEL, self.best),
            (f"{problem}/attempts", "Attempts", JSON, self.attempts),
            (f"{problem}/attempts/{{attempt}}", "Attempt", JSON, self.attempt),
            (f"{problem}/timeline/{{digest}}", "Timeline", JSON, self.timeline),
            (f"{problem}/report", "Report", HTML, self.report),
            ("anvil://experiences/{experience}", "Experience", JSON, self.experience),
            ("anvil://guides/{topic}", "Guide", MARKDOWN, self.guide),
        ]

    async def index(self) -> str:
        """Every resource there is, with its URI: clients list no templates."""
        lab = await self._desk.laboratory()
        return await to_thread.run_sync(shelf.index, lab)

    async def problems(self) -> str:
        """The open problems: name, backend, best."""
        lab = await self._desk.laboratory()
        return _json(await to_thread.run_sync(shelf.problems, lab))

    async def problem(self, problem: str) -> str:
        """One problem: what is computed, inputs, tolerance, best, guard."""
        lab = await self._desk.laboratory()
        return _json(await to_thread.run_sync(shelf.problem, lab, problem))

    async def best(self, problem: str) -> str:
        """The text of the best kernel."""
        lab = await self._desk.laboratory()
        return await to_thread.run_sync(shelf.best, lab, problem)

    async def attempts(self, problem: str) -> str:
        """Every attempt of a problem, in a line each."""
        lab = await self._desk.laboratory()
        return _json(await to_thread.run_sync(shelf.attempts, lab, problem))

    async def attempt(self, problem: str, attempt: str) -> str:
        """One attempt with its kernel text, verdicts, comparisons, profiles and reflexions."""
        lab = await self._desk.laboratory()
        return _json(await to_thread.run_sync(shelf.attempt, lab, problem, attempt))

    async def timeline(self, problem: str, digest: str) -> str:
        """Trace-event JSON of a profiled kernel; Perfetto opens it."""
        lab = await self._desk.laboratory()
        return await to_thread.run_sync(shelf.timeline, lab, problem, digest)

    async def report(self, problem: str) -> str:
        """The report of a problem as it stands now, as one HTML file."""
        lab = await self._desk.laboratory()
        return await to_thread.run_sync(shelf.report, lab, problem)

    async def experience(self, experience: str) -> str:
        """One experience with its evidence."""
        memory = await settled(Call(self._desk))
        return _json(await to_thread.run_sync(shelf.experience, memory, experience))

    async def guide(self, topic: str) -> str:
        """What the hardware, the language, the rules and the metrics are."""
        if topic not in guides.topics():
            raise FileNotFoundError(f"There is no guide {topic!r}, only {', '.join(guides.topics())}.")
        return guides.text(topic)


def _told(read: Callable[P, Awaitable[str]]) -> Callable[P, Awaitable[str]]:
    """Our errors in the words of MCP: what does not exist is not found, anything else says why."""

    @wraps(read)
    async def told(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return await read(*args, **kwargs)
        except NOT_THERE as error:
            raise ResourceNotFoundError(str(error)) from error
        except AnvilError as error:
            raise ResourceError(error.text) from error

    return told


def _name(uri: str) -> str:
    return uri.removeprefix("anvil://").replace("{", "").replace("}", "").replace("/", "-")


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str)
