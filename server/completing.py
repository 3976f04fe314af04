"""Completing arguments of prompts and resource templates: names of problems, numbers of attempts, topics."""

from __future__ import annotations

from anyio import to_thread
from mcp_types import Completion, CompletionArgument, CompletionContext

from nki_anvil.backends.errors import AnvilError
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.memory.store import Store
from nki_anvil.server import guides
from nki_anvil.tools.desk import Desk

MOST = 100
"""Values in one answer, by the protocol."""


async def complete(desk: Desk, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
    """What the argument may be, newest last where there is an order; nothing where nothing is known."""
    chosen = (context.arguments if context else None) or {}
    try:
        values = await _values(desk, argument.name, chosen.get("problem"))
    except AnvilError:
        values = []
    found = [value for value in values if value.startswith(argument.value)]
    return Completion(values=found[:MOST], total=len(found), has_more=len(found) > MOST)


async def _values(desk: Desk, name: str, problem: str | None) -> list[str]:
    if name == "topic":
        return guides.topics()
    if name == "experience":
        return await to_thread.run_sync(_experiences, await desk.memory())
    lab = await desk.laboratory()
    if name == "problem":
        return await to_thread.run_sync(lab.names)
    if name in ("attempt", "digest") and problem:
        return await to_thread.run_sync(_attempts, lab, problem, name)
    return []


def _attempts(lab: Laboratory, problem: str, name: str) -> list[str]:
    attempts = lab.problem(problem).attempts.all()
    return [str(attempt.number) if name == "attempt" else attempt.digest for attempt in attempts]


def _experiences(memory: Store) -> list[str]:
    return [experience.id for experience in memory.experiences()]
