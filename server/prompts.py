"""The prompts: Markdown files with front matter, filled from live state when a client asks for one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

import jinja2
import jinja2.meta
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts.base import Prompt, PromptArgument

from nki_anvil.backends.errors import AnvilError
from nki_anvil.server.budgeting import Part, fitted, tokens
from nki_anvil.server.filling import NEWEST_LAST, WEIGHTS, chosen, whole
from nki_anvil.server.slots import Slots
from nki_anvil.tools.desk import Desk

FENCE = "---\n"
SWITCHES = frozenset({"origin"})
"""Slots that decide what else a prompt says."""


@dataclass(frozen=True, kw_only=True)
class PromptFile:
    """One prompt as it is written."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    defaults: dict[str, str]
    """Of the arguments that have one."""
    budget: int
    """Tokens that the filled prompt takes at most."""
    body: str

    @property
    def slots(self) -> set[str]:
        """What it has to be filled with."""
        return jinja2.meta.find_undeclared_variables(ENVIRONMENT.parse(self.body))


ENVIRONMENT = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True)  # noqa: S701 - Markdown


def read(text: str) -> PromptFile:
    """A prompt file: ``key: value`` lines between two fences, ``arguments`` as a list of the same, then the body."""
    _, front, body = text.split(FENCE, 2)
    fields: dict[str, str] = {}
    arguments: list[dict[str, str]] = []
    for line in front.splitlines():
        key, _, value = line.strip().removeprefix("- ").partition(": ")
        if line.lstrip().startswith("- "):
            arguments.append({})
        target = arguments[-1] if line.startswith(" ") else fields
        target[key.rstrip(":")] = value.strip()
    return PromptFile(
        name=fields["name"],
        title=fields["title"],
        description=fields["description"],
        arguments=tuple(_argument(argument) for argument in arguments),
        defaults={argument["name"]: argument["default"] for argument in arguments if "default" in argument},
        budget=int(fields["tokens"]),
        body=body.lstrip("\n"),
    )


def prompt_files() -> list[PromptFile]:
    """Every prompt that ships with the package, by name."""
    return [read(file.read_text(encoding="utf-8")) for file in _markdown(files("nki_anvil.prompts"))]


async def fill(prompt: PromptFile, desk: Desk, arguments: dict[str, str]) -> str:
    """The prompt's text for one problem, within its budget. A slot that cannot be filled says why."""
    lab = await desk.laboratory()
    slots = Slots(desk, lab, lab.problem(arguments["problem"]), prompt.defaults | arguments)
    body = ENVIRONMENT.from_string(prompt.body)
    values = {name: await chosen(slots, name) for name in sorted(prompt.slots)}
    empty = body.render({name: value if name in SWITCHES else "" for name, value in values.items()})
    parts = {
        name: Part(text, weight=WEIGHTS.get(name, 1.0), newest_last=name in NEWEST_LAST, whole=whole(slots, name))
        for name, text in values.items()
    }
    return body.render(fitted(parts, prompt.budget - tokens(empty)))


def add_to(server: MCPServer[Desk], desk: Desk) -> None:
    """Publishes every prompt."""
    for prompt in prompt_files():
        server.add_prompt(
            Prompt(
                name=prompt.name,
                title=prompt.title,
                description=f"{prompt.description} At most {prompt.budget:,} tokens.",
                arguments=list(prompt.arguments),
                fn=_filled(prompt, desk),
                context_kwarg=None,
            )
        )


def _filled(prompt: PromptFile, desk: Desk) -> Callable[..., Awaitable[str]]:
    async def filled(**arguments: str) -> str:
        try:
            return await fill(prompt, desk, arguments)
        except AnvilError as error:
            return f"The prompt {prompt.name} cannot be filled: {error.text}"

    return filled


def _argument(fields: dict[str, str]) -> PromptArgument:
    return PromptArgument(
        name=fields["name"], description=fields["description"], required=fields.get("required") == "true"
    )


def _markdown(folder: Traversable) -> list[Traversable]:
    return sorted((file for file in folder.iterdir() if file.name.endswith(".md")), key=lambda file: file.name)
