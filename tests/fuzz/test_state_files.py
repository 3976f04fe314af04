"""A state file that was damaged, cut, lost or swapped: the server answers, with a code where it cannot go on."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from lab_world import World, kernel
from mcp import Client
from served import served

pytestmark = pytest.mark.anyio

TRIALS = 2_000 if os.environ.get("NKI_ANVIL_ENDURANCE") else 40
USERS = kernel(9.5, note="mine")
"""What the user has in the working file."""


async def lived_in(world: World) -> Path:
    """A workspace in which everything has happened once; returns its state."""
    await world.open()
    await world.attempt(kernel(8))
    await world.attempt(kernel(11))
    failed = await world.attempt(kernel(7, fails="values"))
    await world.reflect(failed.attempt)
    await world.attempt(kernel(7))
    await world.finish()
    world.edit(USERS)
    return world.workspace / ".nki-anvil"


def damaged(root: Path, chance: random.Random) -> Path:
    """Spoils one file in one of the ways in which disks, editors and people spoil files; returns which."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".lock")
    path = chance.choice(files)
    content = bytearray(path.read_bytes())
    match chance.randrange(6):
        case 0 if content:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            path.write_bytes(content)
        case 1:
            path.write_bytes(content[: chance.randrange(len(content) + 1)])
        case 2:
            path.write_bytes(bytes(chance.randrange(256) for _ in range(40)))
        case 3:
            path.unlink()
        case 4:
            path.write_bytes(chance.choice(files).read_bytes())
        case _:
            path.unlink()
            path.mkdir()
    return path


async def answers(client: Client, tool: str, **arguments: Any) -> str:
    """The refusal's text, or nothing."""
    answer = await client.call_tool(tool, arguments)
    text = answer.content[0].text if answer.is_error else ""  # type: ignore[union-attr]
    assert not answer.is_error or text.rstrip().endswith("]"), (tool, text)
    assert "Traceback" not in text
    return text


@pytest.mark.slow
async def test_no_damage_to_a_file_breaks_the_server_or_costs_another_file(world: World, tmp_path: Path):
    chance = random.Random(11)
    state = await lived_in(world)
    sound = shutil.copytree(state, tmp_path / "sound")
    kernels = {path.relative_to(sound): path.read_text() for path in sound.rglob("kernel.py")}
    best = kernel(7)
    refused = 0
    for _ in range(TRIALS):
        shutil.rmtree(state)
        shutil.copytree(sound, state)
        world.edit(USERS)
        spoiled = damaged(state, chance)
        world.lab = world.again()
        async with served(world) as client:
            texts = [
                await answers(client, "problem_status", problem="p"),
                await answers(client, "verify_kernel", problem="p", source=kernel(6)),
                await answers(client, "benchmark_kernel", problem="p", source=kernel(6)),
                await answers(client, "profile_kernel", problem="p"),
                await answers(client, "revert_to_best", problem="p"),
                await answers(client, "open_problem", reference="reference.py"),
                await answers(client, "finish_problem", problem="p"),
            ]
        refused += any(texts)
        for relative, text in kernels.items():
            if state / relative != spoiled and spoiled not in (state / relative).parents:
                assert (state / relative).read_text() == text, (spoiled, relative)
        assert world.file.read_text() in (USERS, best, kernel(6), kernel(10.0), kernel(8)), spoiled
    assert refused > TRIALS // 10, "hardly any damage was noticed"
