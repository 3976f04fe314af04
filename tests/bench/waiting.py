"""What a person waits for while writing: the look at a save, and the plugin's hook at the end of a turn."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
from rich.table import Table

from nki_anvil.lab.looking import look
from nki_anvil.server.building import Builder
from nki_anvil.tools.call import Call
from nki_anvil.tools.desk import opened
from nki_anvil.tools.open_problem import open_problem

SMALL = ("adamw", "layernorm", "rmsnorm", "rope", "silu", "softmax", "swiglu")
LOOKS = 5
LOOK_GOAL_S = 1.0
HOOKS = 9
HOOK_GOAL_MS = 100.0
HOOK = Path(__file__).parents[2] / "hooks" / "gate.py"


async def looks_s(workspace: Path, seed: str) -> list[float]:
    """Seconds of each look that ``nki-anvil watch`` takes at the seed's own kernel, on the simulator."""
    builder = Builder(lambda *_: None, workspace=workspace, data=workspace.parent / "data", log_level="WARNING")
    async with opened(builder.laboratory, builder.memory) as desk:
        await open_problem(Call(desk), f"seed:{seed}")
        lab = await desk.laboratory()
        return [(await look(lab, seed)).seconds for _ in range(LOOKS)]


def hooks_ms(workspace: Path, command: list[str]) -> list[float]:
    """Milliseconds of a process that is told of the end of a turn, Python's own start among them."""
    event = json.dumps({"cwd": str(workspace), "session_id": "bench"})
    environment = {**os.environ, "CLAUDE_PROJECT_DIR": str(workspace)}
    times: list[float] = []
    for _ in range(HOOKS):
        began = time.perf_counter()
        subprocess.run(command, input=event, text=True, capture_output=True, check=True, env=environment)
        times.append((time.perf_counter() - began) * 1e3)
    return times


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        table = Table("seed", "median", "best", "worst", "goal", title="A look at a save, `nki-anvil watch`")
        for seed in SMALL:
            found = anyio.run(looks_s, workspace, seed)
            table.add_row(seed, *_shown(found, "{:.2f} s"), f"under {LOOK_GOAL_S:g} s")
        yield table
        hook = hooks_ms(workspace, [sys.executable, str(HOOK), "stop"])
        python = hooks_ms(workspace, [sys.executable, "-c", ""])
    table = Table("", "median", "best", "worst", "goal", title=f"The Stop hook, {len(SMALL)} problems open")
    table.add_row("hook", *_shown(hook, "{:.0f} ms"), f"under {HOOK_GOAL_MS:.0f} ms")
    table.add_row("starting Python alone", *_shown(python, "{:.0f} ms"), "")
    yield table


def _shown(values: list[float], form: str) -> tuple[str, ...]:
    return tuple(form.format(of(values)) for of in (statistics.median, min, max))
