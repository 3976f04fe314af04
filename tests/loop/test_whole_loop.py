"""The whole loop over stdio, by a client that knows only the tools' names and fields."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import served
from mcp import Client, StdioServerParameters
from served import refusal

pytestmark = pytest.mark.anyio
KERNELS = Path(__file__).parents[1] / "kernels"

OWN_REFERENCE = """
import numpy as np

M, N = 136, 192

def get_inputs():
    return [np.random.randn(M, N).astype(np.float32), np.random.randn(M, N).astype(np.float32)]

def forward(a, b):
    return np.maximum(a, 0) * b + a
"""

OWN_KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(a, b):
    rows, columns = a.shape
    out = nl.ndarray((rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, ROWS):
        size = min(ROWS, rows - start)
        for left in range(0, columns, WIDTH):
            x = nl.ndarray((size, WIDTH), dtype=nl.float32, buffer=nl.sbuf)
            y = nl.ndarray((size, WIDTH), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=x, src=a[start : start + size, left : left + WIDTH])
            nisa.dma_copy(dst=y, src=b[start : start + size, left : left + WIDTH])
            z = nl.ndarray((size, WIDTH), dtype=nl.float32, buffer=nl.sbuf)
            nisa.scalar_tensor_tensor(dst=z, data=x, op0=nl.maximum, operand0=0.0, op1=nl.multiply, operand1=y)
            nisa.tensor_tensor(dst=z, data1=z, data2=x, op=nl.add)
            nisa.dma_copy(dst=out[start : start + size, left : left + WIDTH], src=z)
    return out
"""


@asynccontextmanager
async def session(workspace: Path) -> AsyncGenerator[Client]:
    environment = {
        "NKI_ANVIL_WORKSPACE": str(workspace),
        "NKI_ANVIL_DATA": f"{workspace}-data",
    }
    command = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "nki_anvil.server.main", "serve"],
        env={**os.environ, **environment}, cwd=workspace,
    )  # fmt: skip
    async with Client(command) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await served.call(client, tool, **arguments)
    assert result["summary"]
    return result


async def loop(client: Client, workspace: Path, problem: str, texts: dict[str, str], **opening: Any) -> None:
    """Baseline, refusal, rejection, revert, keep, reflexion, experience, the end."""
    opened = await call(client, "open_problem", **opening)
    assert opened["problem"] == problem
    assert opened["origin"] == "modelled"
    working_file = workspace / opened["kernel_path"]

    profile = await call(client, "profile_kernel", problem=problem)
    assert profile["gaps"], "a plain kernel wastes time somewhere"
    shown = await call(client, "query_memory", problem=problem, bottleneck=profile["bound_by"])

    working_file.write_text(texts["wrong"])
    assert "[gate.unverified]" in await refusal(client, "benchmark_kernel", problem=problem)
    verdict = await call(client, "verify_kernel", problem=problem, plan="wrong on purpose", shown_id=shown["shown_id"])
    assert not verdict["passed"]
    assert len(verdict["gates"]) == 9
    assert working_file.read_text() == texts["wrong"], "a failed verdict restores nothing"
    reflexion = await call(
        client, "record_reflexion", problem=problem, attempt=verdict["attempt"],
        diagnosis="d", change="c", expected="e", lesson="it was wrong",
    )  # fmt: skip
    assert reflexion["outcome"] != "keep"

    working_file.write_text(texts["slower"])
    assert (await call(client, "verify_kernel", problem=problem))["passed"]
    slower = await call(client, "benchmark_kernel", problem=problem)
    assert slower["outcome"] == "revert"
    assert slower["restored"] is not None
    assert working_file.read_text() != texts["slower"]
    await call(
        client, "record_reflexion", problem=problem, attempt=slower["attempt"],
        diagnosis="d", change="c", expected="e", expected_speedup=1.2, lesson="small transfers cost",
    )  # fmt: skip

    working_file.write_text(texts["better"])
    assert (await call(client, "verify_kernel", problem=problem))["passed"]
    better = await call(client, "benchmark_kernel", problem=problem)
    assert better["outcome"] == "keep"
    assert better["speedup"] > 1
    assert working_file.read_text() == texts["better"]

    await call(
        client, "add_experience", kind="speedup", title=f"What helped {problem}", when_to_use="rows are short",
        advice="Move more per transfer.", problem=problem, attempt=better["attempt"],
    )  # fmt: skip
    found = await call(client, "query_memory", problem=problem, text=f"what helped {problem}")
    assert any(problem in experience["title"] for experience in found["experiences"])
    assert any("it was wrong" in str(entry) for entry in found["reflexions"])

    status = await call(client, "problem_status", problem=problem)
    assert status["best"]["digest"] == better["best_digest"]
    finished = await call(client, "finish_problem", problem=problem)
    assert finished["report"]


def variants(seed: str) -> dict[str, str]:
    return {name: (KERNELS / seed / f"{name}.py").read_text() for name in ("wrong", "slower", "better")}


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["softmax", "matmul", *(["rmsnorm"] if os.environ.get("NKI_ANVIL_ENDURANCE") else [])])
async def test_a_client_improves_a_seed(tmp_path: Path, seed: str):
    """The demo does so with ``rmsnorm``."""
    async with session(tmp_path) as client:
        await loop(client, tmp_path, seed, variants(seed), reference=f"seed:{seed}")


def own_kernel(rows: int, width: int) -> str:
    return OWN_KERNEL.replace("ROWS", str(rows)).replace("WIDTH", str(width))


async def opened(client: Client, workspace: Path) -> dict[str, str]:
    """A problem of the client's own, and kernels of it."""
    (workspace / "gated.py").write_text(OWN_REFERENCE)
    (workspace / "gated_kernel.py").write_text(own_kernel(64, 96))
    await call(client, "open_problem", **OWN)
    return {"wrong": own_kernel(128, 192).replace("op0=nl.maximum", "op0=nl.minimum")}


OWN = {"reference": "gated.py", "kernel_path": "gated_kernel.py"}


@pytest.mark.slow
async def test_a_client_improves_a_problem_of_its_own(tmp_path: Path):
    async with session(tmp_path) as client:
        texts = await opened(client, tmp_path)
        texts |= {"slower": own_kernel(32, 48), "better": own_kernel(128, 192)}
        await loop(client, tmp_path, "gated", texts, **OWN)


@pytest.mark.slow
async def test_a_problem_and_its_history_outlive_the_server(tmp_path: Path):
    async with session(tmp_path) as client:
        await opened(client, tmp_path)
        (tmp_path / "gated_kernel.py").write_text("def kernel(:\n")
        first = await call(client, "verify_kernel", problem="gated")
    async with session(tmp_path) as client:
        status = await call(client, "problem_status", problem="gated")
        assert status["best"] is not None
        assert first["attempt"] in [attempt["attempt"] for attempt in status["attempts"]]
        assert (await call(client, "verify_kernel", problem="gated"))["repeated"]


@pytest.mark.slow
async def test_three_failures_close_the_guard_until_a_reflexion_even_after_a_restart(tmp_path: Path):
    async with session(tmp_path) as client:
        wrong = (await opened(client, tmp_path))["wrong"]
        tries = [f"{wrong}\n# try {number}\n" for number in range(3)]
        verdicts = [await call(client, "verify_kernel", problem="gated", source=text) for text in tries]
        assert not any(verdict["passed"] for verdict in verdicts)
        last = verdicts[-1]["attempt"]
    async with session(tmp_path) as client:
        text = await refusal(client, "verify_kernel", problem="gated", source=f"{wrong}\n# once more\n")
        assert "[guard.reflexion_required]" in text
        assert str(last) in text
        await call(
            client, "record_reflexion", problem="gated", attempt=last,
            diagnosis="d", change="c", expected="e", lesson="the maximum matters",
        )  # fmt: skip
        assert not (await call(client, "verify_kernel", problem="gated", source=f"{wrong}\n# once more\n"))["passed"]
