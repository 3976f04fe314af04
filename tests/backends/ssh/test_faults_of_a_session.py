"""What happens to a host while a real MCP client works on it: what the client is told, and what goes on or is freed."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from host_client import REFERENCE, losses, session, settings_file
from line_server import KERNEL
from mcp import Client
from processes import command, descendants
from served import call, refusal
from standin_host import StandInHost, keygen

from nki_anvil.backends.worker.device import leases

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PROXY = Path(__file__).parents[2] / "cutting_proxy.py"


def new() -> str:
    """A text of its own that takes a while to send."""
    return KERNEL + "".join(f"# {secrets.token_hex(50)}\n" for _ in range(1500))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "kernel.py").write_text(KERNEL)
    return tmp_path


async def opened(client: Client) -> None:
    answer = await call(client, "open_problem", reference="reference.py", kernel_path="kernel.py", name="p")
    assert answer["baseline"], answer


async def verify(client: Client, told: Callable[[str], object] = lambda _: None) -> dict[str, Any]:
    """A new kernel's verdict; ``told`` hears the progress."""

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told(message or "")

    arguments = {"problem": "p", "source": new()}
    answer = await client.call_tool("verify_kernel", arguments, progress_callback=progress)
    assert not answer.is_error, answer.content
    assert answer.structured_content
    return answer.structured_content


def runs(there: StandInHost) -> int:
    return len({line["pid"] for line in there.device_log() if line["event"] == "used"})


async def until(condition: Callable[[], Any]) -> None:
    with anyio.fail_after(60):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.02)


def free(there: StandInHost) -> bool:
    return leases.free(there.home / "leases", range(4)) == [0, 1, 2, 3]


def cut_once(there: StandInHost, word: str) -> Callable[[str], None]:
    """Cuts the line when progress first says the word."""
    stages = [word] if word else []

    def hear(message: str) -> None:
        if stages and stages[0] in message:
            stages.pop()
            there.cut()

    return hear


async def test_a_cut_in_every_stage_is_taken_up_again_without_a_second_run_and_other_faults_are_told_and_survived(
    workspace: Path, there: StandInHost
) -> None:
    config, orders = there.folder / "ssh_config.cut", there.folder / "cut.json"
    config.write_text(
        (there.folder / "ssh_config").read_text() + f"  ProxyCommand {sys.executable} {PROXY} {there.port} {orders}\n"
    )
    settings_file(workspace, there, config=str(config), lease_s=2.0)
    async with session(workspace) as client:
        await opened(client)
        stages = {"upload": {"up": 20_000}, "compile": "compiling", "run": "case", "download": {"down": 50_000}}
        for stage, where in stages.items():
            there.switch(**({"compile_seconds": 1} if stage == "compile" else {"run_seconds": 0.05}))
            if isinstance(where, dict):
                orders.write_text(json.dumps(where))
            before, lost = runs(there), losses(workspace)
            verdict = await verify(client, cut_once(there, where if isinstance(where, str) else ""))
            assert verdict["passed"], (stage, verdict)
            assert losses(workspace) > lost, stage
            assert not orders.exists(), stage
            assert runs(there) == before + 1, f"{stage}: one run, however often the line was cut"
        there.switch()

        with leases.leased(there.home / "leases", [(0, 1, 2, 3)], "someone's", 5, lambda _: None):
            said = await refusal(client, "verify_kernel", problem="p", source=new())
            assert "[backend.busy]" in said
            assert f"process {os.getpid()}" in said

        there.switch(run_seconds=60)
        async with anyio.create_task_group() as tasks:

            def cancel(message: str) -> None:
                if "case" in message:
                    tasks.cancel_scope.cancel()

            tasks.start_soon(verify, client, cancel)
        await until(lambda: free(there))
        there.switch()
        assert (await verify(client))["passed"], "the next call works"

        known = there.folder / "known_hosts"
        accepted = known.read_text()
        keygen(there.folder / "other")
        kind, other = (there.folder / "other.pub").read_text().split()[:2]
        known.write_text(f"[127.0.0.1]:{there.port} {kind} {other}\n")
        there.cut()
        try:
            said = await refusal(client, "verify_kernel", problem="p", source=new())
            assert "[host.key_changed]" in said
            assert "ssh-keygen -R" in said
        finally:
            known.write_text(accepted)
            for name in ("other", "other.pub"):
                (there.folder / name).unlink()
        assert (await verify(client))["passed"], "accepted again, it goes on"


async def lose_the_server(workspace: Path, there: StandInHost) -> None:
    """Verify, and kill the server when the host is at the first case."""
    async with session(workspace) as client:
        await opened(client)
        there.switch(run_seconds=60)
        servers = [pid for pid in descendants(os.getpid()) if "server.main serve" in command(pid)]

        def kill(message: str) -> None:
            if "case" in message:
                assert not free(there)
                for pid in servers:
                    os.kill(pid, signal.SIGKILL)

        with anyio.fail_after(60):
            await verify(client, kill)


async def test_a_server_that_is_killed_while_a_job_runs_leaves_a_job_that_ends_by_itself_and_a_free_core(
    workspace: Path, there: StandInHost
) -> None:
    settings_file(workspace, there, grace_s=1.0)
    with pytest.raises(Exception):  # noqa: B017 - however the client tells that its server is gone
        await lose_the_server(workspace, there)
    await until(lambda: free(there))
    there.switch()
    async with session(workspace) as client:
        assert (await verify(client))["passed"], "another server goes on with the same problem"
        status = await call(client, "problem_status", problem="p")
        assert status["best"]["attempt"] == 0


async def test_a_server_on_the_host_itself_works_through_the_same_worker(workspace: Path, there: StandInHost) -> None:
    settings_file(workspace, there, name="local")
    async with session(workspace, NKI_ANVIL_HOSTS="", NKI_ANVIL_BACKEND="local") as client:
        await opened(client)
        assert (await call(client, "profile_kernel", problem="p"))["origin"] == "device"
        wrong = KERNEL.replace("2.0", "2.5")
        verdict = await call(client, "verify_kernel", problem="p", source=wrong)
        assert verdict["gates"][4]["passed"] is False
        assert (await verify(client))["passed"]
        finished = await call(client, "finish_problem", problem="p")
        assert finished["origin"] == "device"
