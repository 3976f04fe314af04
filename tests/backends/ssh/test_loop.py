"""The whole loop over a real MCP client and a real SSH server, on each generation of the SDK, which stands in."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from host_client import REFERENCE, session, settings_file
from line_server import KERNEL
from mcp import Client
from served import call
from standin_host import MISSING, StandInHost

from nki_anvil.lab.attempt import Benchmarks
from nki_anvil.lab.comparison import Comparison

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BETA1 = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(out, nl.multiply(tile, 2.0))
    return out
"""


def slower(kernel: str) -> str:
    """The same, loading everything a dozen times."""
    load = next(line for line in kernel.splitlines() if "src=x" in line or "nl.load" in line)
    return kernel.replace(load, "\n".join([load] * 12))


def wrong(kernel: str) -> str:
    return kernel.replace("2.0", "2.5")


@dataclass(frozen=True)
class Generation:
    """One generation of the SDK, as the stand-in plays it."""

    played: str
    nki: str
    kernel: str
    timer: str

    @property
    def declared(self) -> str:
        """``nki_version`` of a problem; Beta 1 is told by its imports."""
        return "0.7" if self.kernel == BETA1 else ".".join(self.nki.split(".")[:2])


GENERATIONS = [
    Generation("current", "0.7.0", KERNEL, "nrtpy"),
    Generation("beta1", "2.26", BETA1, "neuron-profile"),
    Generation("explorer", "0.3.0", KERNEL, "neuron-explorer"),
    Generation("spike", "0.5.0", KERNEL, "spike"),
]
"""One of each timer. The newest and the oldest, which are launched and compiled in different ways, judge kernels; the
others time what they open, and judge with NKI_ANVIL_ENDURANCE=1."""

OTHERS = [
    Generation("beta2", "0.2.0", KERNEL, "neuron-explorer"),
    Generation("current", "0.6.0", KERNEL, "nrtpy"),
]
"""Those that differ from them by a version: played with NKI_ANVIL_ENDURANCE=1."""


async def test_each_generation_opens_and_profiles_and_the_newest_and_the_oldest_judge(tmp_path: Path) -> None:
    """Two at a time, which is what a small machine has cores for."""
    if MISSING:
        pytest.skip(MISSING)
    turn = anyio.Semaphore(2)

    async def one(generation: Generation) -> None:
        async with turn:
            folder = tmp_path / f"{generation.played}-{generation.nki}"
            host = StandInHost(folder / "host", generation.played, generation.nki)
            host.start()
            try:
                await part(generation)(generation, host, folder / "workspace")
            except BaseException as error:
                error.add_note(f"on {generation.played} {generation.nki}")
                raise
            finally:
                host.stop()

    async with anyio.create_task_group() as tasks:
        for generation in [*GENERATIONS, *(OTHERS if os.environ.get("NKI_ANVIL_ENDURANCE") else [])]:
            tasks.start_soon(one, generation)


def part(generation: Generation) -> Callable[[Generation, StandInHost, Path], Awaitable[None]]:
    if generation is GENERATIONS[0]:
        return improved
    return worsened if generation in GENERATIONS[:2] or os.environ.get("NKI_ANVIL_ENDURANCE") else timed


async def improved(generation: Generation, host: StandInHost, workspace: Path) -> None:
    """A wrong kernel is rejected and a faster one kept."""
    kernel = generation.kernel
    working = problem(generation, host, workspace, slower(kernel))
    async with session(workspace) as client:
        await opened(client, 12)
        working.write_text(wrong(kernel))
        verdict = await call(client, "verify_kernel", problem="p")
        assert verdict["gates"][4]["passed"] is False, "values, from what the device computed"
        working.write_text(kernel)
        await verified(client)
        kept = await call(client, "benchmark_kernel", problem="p")
        assert kept["outcome"] == "keep", kept
        finished = await call(client, "finish_problem", problem="p")
        assert finished["origin"] == "device"
        assert finished["speedup"] > 1.5
    told(generation, kept, workspace, 2)


async def worsened(generation: Generation, host: StandInHost, workspace: Path) -> None:
    """A slower kernel is reverted, which takes half as many runs."""
    working = problem(generation, host, workspace, generation.kernel)
    async with session(workspace) as client:
        await opened(client, 1)
        working.write_text(slower(generation.kernel))
        await verified(client)
        reverted = await call(client, "benchmark_kernel", problem="p")
        assert reverted["outcome"] == "revert", reverted
        assert working.read_text() == generation.kernel
        finished = await call(client, "finish_problem", problem="p")
        assert finished["origin"] == "device"
    told(generation, reverted, workspace, 1)


async def timed(generation: Generation, host: StandInHost, workspace: Path) -> None:
    """The kernel that a problem begins with is profiled and timed."""
    problem(generation, host, workspace, generation.kernel)
    async with session(workspace) as client:
        await opened(client, 1)
    assert comparison_of(workspace, 0).timer == f"{generation.timer} (stand-in)"


def problem(generation: Generation, host: StandInHost, workspace: Path, kernel: str) -> Path:
    workspace.mkdir()
    (workspace / "problem.toml").write_text(f'name = "p"\nnki_version = "{generation.declared}"\n')
    (workspace / "reference.py").write_text(REFERENCE)
    (workspace / "kernel.py").write_text(kernel)
    settings_file(workspace, host)
    return workspace / "kernel.py"


async def opened(client: Client, loads: int) -> None:
    answer = await call(client, "open_problem", reference="problem.toml")
    assert answer["origin"] == "device"
    assert answer["baseline"], answer
    profile = await call(client, "profile_kernel", problem="p")
    assert profile["origin"] == "device"
    assert profile["metrics"]["hbm_read_bytes"] == loads * 64 * 128 * 4


async def verified(client: Client) -> None:
    verdict = await call(client, "verify_kernel", problem="p")
    assert verdict["passed"], verdict
    assert next(gate for gate in verdict["gates"] if gate["name"] == "artefact")["passed"] is True


def told(generation: Generation, benchmarked: dict[str, Any], workspace: Path, attempt: int) -> None:
    """Where the figures come from."""
    assert benchmarked["origin"] == "device"
    assert "stand-in: nothing was measured" in benchmarked["flags"]
    comparison = comparison_of(workspace, attempt)
    assert comparison.timer == f"{generation.timer} (stand-in)"
    assert comparison.toolchain.startswith("stand-in ")
    if generation.kernel == KERNEL:
        assert f"nki {generation.nki}" in comparison.toolchain


def comparison_of(workspace: Path, attempt: int) -> Comparison:
    """The first one that is kept of an attempt."""
    folder = workspace / ".nki-anvil" / "problems" / "p" / "attempts" / f"{attempt:04d}"
    return Benchmarks.model_validate_json((folder / "benchmark.json").read_text()).comparisons[0]
