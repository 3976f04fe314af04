"""The main job, end to end, as a client sees it: a scripted assistant optimises the seed ``rmsnorm`` on the simulator.

It starts the real server over stdio in a fresh workspace (``.demo/``) and uses nothing but its tools. Exit status 0
means that a wrong kernel was rejected, a slower one reverted, and better ones kept.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent
from rich.console import Console
from rich.markup import escape
from rich.table import Table

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "tests" / "kernels" / "rmsnorm"
WORKSPACE = ROOT / ".demo"
DATA = ROOT / ".demo-data"
PROBLEM = "rmsnorm"

console = Console(highlight=False, width=118, soft_wrap=True)


class Unexpected(Exception):
    """The demo did not go as it must."""


class Assistant:
    """Plays the coding assistant's part by a fixed script, and says what it does."""

    def __init__(self, client: Client, workspace: Path) -> None:
        self.client = client
        self.workspace = workspace
        self.kernel = workspace / "kernels" / PROBLEM / "kernel.py"
        self.trajectory: list[tuple[str, dict[str, Any]]] = []
        self.seen: set[str] = set()

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One tool call; a tool error ends the demo, for none is expected where this is used."""
        answer = await self.client.call_tool(tool, arguments)
        if answer.is_error or answer.structured_content is None:
            raise Unexpected(f"{tool}: {text_of(answer)}")
        console.print(f"[bold cyan]{tool}[/]  {escape(answer.structured_content['summary'])}")
        return answer.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """One tool call that the server has to refuse."""
        answer = await self.client.call_tool(tool, arguments)
        if not answer.is_error:
            raise Unexpected(f"{tool} was not refused")
        text = text_of(answer)
        console.print(f"[bold cyan]{tool}[/]  [yellow]refused:[/] {escape(text)}")
        return text

    def edit(self, variant: str, why: str) -> None:
        """What an assistant does with its own editor."""
        text = (KERNELS / f"{variant}.py").read_text()
        if self.kernel.read_text() == text:
            return
        console.print(f"\n[bold]edit[/] kernel.py: {why}")
        self.kernel.write_text(text)

    async def attempt(self, variant: str, plan: str, shown_id: str | None) -> dict[str, Any]:
        """Edit, verify, benchmark."""
        self.edit(variant, plan)
        lineage = {"plan": plan} | ({"shown_id": shown_id} if shown_id else {})
        verdict = await self.call("verify_kernel", problem=PROBLEM, **lineage)
        if not verdict["passed"]:
            self.trajectory.append((plan, {"outcome": "rejected", "attempt": verdict["attempt"]}))
            return verdict
        result = await self.call("benchmark_kernel", problem=PROBLEM, **lineage)
        self.trajectory.append((plan, result))
        return result


@contextmanager
def heading(text: str) -> Generator[None]:
    console.rule(f"[bold]{text}", align="left")
    yield
    console.print()


async def play(assistant: Assistant) -> dict[str, Any]:
    with heading("Open and profile"):
        opened = await assistant.call("open_problem", reference=f"seed:{PROBLEM}")
        assistant.trajectory.append(("baseline", {"outcome": "baseline", "attempt": 0, **opened["baseline"]}))
        profile = await assistant.call("profile_kernel", problem=PROBLEM)
        for gap in profile["gaps"][:3]:
            console.print(f"    {gap['cost_us']:8.1f} us  {gap['name']}: {gap['advice']}")
        shown = await assistant.call("query_memory", problem=PROBLEM, bottleneck=profile["bound_by"])
        shown_id = shown["shown_id"]

    with heading("A wrong kernel is rejected"):
        assistant.edit("wrong", "leave epsilon out: one instruction less")
        await assistant.refused("benchmark_kernel", problem=PROBLEM)
        verdict = await assistant.attempt("wrong", "leave epsilon out: one instruction less", shown_id)
        expect(not verdict["passed"], "the wrong kernel passed")
        console.print(f"    {verdict['hint']}")
        await assistant.call(
            "record_reflexion", problem=PROBLEM, attempt=verdict["attempt"],
            diagnosis="the add of epsilon looked superfluous on ordinary rows", change="left epsilon out",
            expected="a little less vector work", lesson="rows near zero need epsilon: the value gate draws such rows",
            avoid="dropping terms that only matter on extreme rows",
        )  # fmt: skip

    with heading("A slower kernel is reverted"):
        slower = await assistant.attempt("slower", "smaller transfers, to start computing earlier", shown_id)
        expect(slower["outcome"] == "revert", "the slower kernel was not reverted")
        console.print(f"    working file restored: {slower['restored']}")
        assistant.edit("better", "square and sum in one activation, scale in one instruction")
        await assistant.refused("verify_kernel", problem=PROBLEM)
        await assistant.call(
            "record_reflexion", problem=PROBLEM, attempt=slower["attempt"],
            diagnosis="waiting for the first transfer", change="smaller transfers", expected="an earlier start",
            expected_speedup=1.2, lesson="every transfer has a fixed cost; many small ones pay it many times",
            avoid="transfers below 2 KiB per partition", try_next="fewer instructions per tile",
        )  # fmt: skip

    with heading("Better kernels are kept"):
        for variant, plan in (
            ("better", "square and sum in one activation, scale in one instruction"),
            ("best", "two row blocks per transfer, so that each transfer moves more"),
        ):
            result = await assistant.attempt(variant, plan, shown_id)
            expect(result["outcome"] == "keep", f"{variant} was not kept but {result['outcome']}")
        await assistant.call(
            "record_reflexion", problem=PROBLEM, attempt=result["attempt"],
            diagnosis="fixed costs per transfer", change=plan, expected="fewer, larger transfers",
            lesson="what a transfer costs besides its bytes decides at this size",
            try_next="balance scalar and vector engine",
        )  # fmt: skip
        await assistant.call(
            "add_experience", kind="speedup", title="Move several row blocks per DMA",
            when_to_use="gaps name small_transfers and rows are short",
            advice="Put several blocks of 128 rows side by side in the free dimension and move them in one transfer.",
            problem=PROBLEM, attempt=result["attempt"],
        )  # fmt: skip

    with heading("What was learnt comes back"):
        answer = await assistant.call("query_memory", problem=PROBLEM, text="small transfers row blocks")
        expect(any("row blocks" in found["title"] for found in answer["experiences"]), "the experience is not found")
        expect(len(answer["reflexions"]) >= 2, "the reflexions are not found")
        for found in answer["experiences"][:3]:
            console.print(f"    {found['title']}: {found['evidence']['said']}")
        return await assistant.call("finish_problem", problem=PROBLEM)


def expect(truth: bool, complaint: str) -> None:
    if not truth:
        raise Unexpected(complaint)


def table(assistant: Assistant) -> Table:
    rows = Table(
        "attempt", "plan", "outcome", "latency", "speedup", "% of bound", title="Trajectory (modelled, not measured)"
    )
    for plan, result in assistant.trajectory:
        latency, speedup = result.get("latency_us"), result.get("speedup")
        rows.add_row(
            str(result["attempt"]), plan, result["outcome"],
            f"{latency:.1f} us" if latency else "", f"{speedup:.2f}x" if speedup else "",
            f"{result['percent_of_bound']:.0f}" if result.get("percent_of_bound") else "",
        )  # fmt: skip
    return rows


async def main() -> None:
    for folder in (WORKSPACE, DATA):
        shutil.rmtree(folder, ignore_errors=True)
    WORKSPACE.mkdir()
    environment = {
        "NKI_ANVIL_WORKSPACE": str(WORKSPACE), "NKI_ANVIL_DATA": str(DATA),
        "NKI_ANVIL_LOG_LEVEL": "WARNING",
    }  # fmt: skip
    server = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "nki_anvil.server.main", "serve"],
        env={**os.environ, **environment}, cwd=WORKSPACE,
    )  # fmt: skip
    async with Client(server) as client:
        assistant = Assistant(client, WORKSPACE)
        finished = await play(assistant)
    console.print(table(assistant))
    report = WORKSPACE / ".nki-anvil" / "problems" / PROBLEM / "report.html"
    expect(report.is_file(), f"no report at {report}")
    console.print(f"\n{finished['summary']}\nReport: {report.relative_to(ROOT)}  (open it in a browser)")


def text_of(answer: CallToolResult) -> str:
    return " ".join(block.text for block in answer.content if isinstance(block, TextContent))


if __name__ == "__main__":
    try:
        anyio.run(main)
    except* Unexpected as group:
        leaf: BaseException = group
        while isinstance(leaf, BaseExceptionGroup):
            leaf = leaf.exceptions[0]
        sys.exit(f"the demo did not go as it must: {leaf}")
