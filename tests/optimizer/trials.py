"""Whole searches by the scripted optimizer, each over a server process of its own, with memory and without."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from optimizer.playing import Optimizer, Turn
from served import call

CLOSE = 1.02
"""A latency this near to the goal has reached it: the model tells no smaller difference apart."""


@asynccontextmanager
async def connected(workspace: Path, **settings: str) -> AsyncGenerator[Client]:
    """A client of a real server on its own workspace and memory."""
    environment = {
        "NKI_ANVIL_WORKSPACE": str(workspace),
        "NKI_ANVIL_DATA": f"{workspace}-data",
        **settings,
    }
    command = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "nki_anvil.server.main", "serve"],
        env={**os.environ, **environment}, cwd=workspace,
    )  # fmt: skip
    async with Client(command) as client:
        yield client


@asynccontextmanager
async def player(workspace: Path, *, remembers: bool, order: int = 1) -> AsyncGenerator[Optimizer]:
    """An optimizer on a fresh server; ``order`` seeds what it does where nothing speaks for a step."""
    async with connected(workspace) as client:

        async def ask(tool: str, **arguments: object) -> dict[str, object]:
            return await call(client, tool, **arguments)

        yield Optimizer(ask, workspace, random.Random(order), remembers)


async def search(workspace: Path, seeds: Sequence[str], *, remembers: bool, order: int = 1) -> Optimizer:
    """Play all seeds one after the other, until no step is left."""
    async with player(workspace, remembers=remembers, order=order) as optimizer:
        for seed in seeds:
            await optimizer.play(seed)
    return optimizer


@dataclass(frozen=True)
class Cost:
    """Attempts until a seed's goal was reached: the best latency that either search found, within two percent."""

    seed: str
    without: int
    with_memory: int
    speedup: float
    """Of the search with memory, best over baseline, as the server says."""


def costs(without: Optimizer, with_memory: Optimizer, seeds: Sequence[str]) -> list[Cost]:
    """Both searches on each seed, by the server's own figures."""
    return [_cost(without, with_memory, seed) for seed in seeds]


def _cost(without: Optimizer, with_memory: Optimizer, seed: str) -> Cost:
    first, second = (_latencies(player, seed) for player in (without, with_memory))
    goal = min(first + second) * CLOSE
    return Cost(seed, _reached(first, goal), _reached(second, goal), second[0] / min(second))


def _latencies(optimizer: Optimizer, seed: str) -> list[float]:
    """Latency of best after 0, 1, 2 ... attempts."""
    return [optimizer.baselines[seed], *(turn.best_us for turn in optimizer.turns if turn.seed == seed)]


def _reached(latencies: list[float], goal: float) -> int:
    """The first attempt at the goal; one more than all where it was never reached."""
    return next((number for number, us in enumerate(latencies) if us <= goal), len(latencies))


def transferred(optimizer: Optimizer) -> list[Turn]:
    """Keeps that followed a lesson learnt on another seed in the same search."""
    kept = [turn for turn in optimizer.turns if turn.outcome == "keep" and turn.origin]
    return [turn for turn in kept if (turn.origin or "").partition(",")[0] in {*optimizer.baselines} - {turn.seed}]


async def both(folder: Path, seeds: Sequence[str], order: int = 1, spared: int = 0) -> tuple[Optimizer, Optimizer]:
    """The search without memory and the one with it, side by side; the former without the first seeds, ``spared``."""
    found: dict[bool, Optimizer] = {}

    async def one(remembers: bool) -> None:
        workspace = anyio.Path(folder / ("with" if remembers else "without"))
        await workspace.mkdir()
        played = seeds if remembers else seeds[spared:]
        found[remembers] = await search(Path(workspace), played, remembers=remembers, order=order)

    async with anyio.create_task_group() as group:
        group.start_soon(one, False)
        group.start_soon(one, True)
    return found[False], found[True]
