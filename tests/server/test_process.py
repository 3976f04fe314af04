"""The server as a process: how it starts, what it writes where, and how it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from line_server import KERNEL, REFERENCE, Server
from processes import descendants

ENDLESS = "import nki\n\n@nki.jit\ndef kernel(x):\n    while True:\n        pass\n"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a tiny problem ``twice`` that is open."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "twice.py").write_text(REFERENCE)
    (folder / "kernel.py").write_text(KERNEL)
    server = Server(folder)
    opened = server.call("open_problem", reference="twice.py", kernel_path="kernel.py")
    assert not opened.get("isError"), opened
    server.end()
    return folder


@pytest.fixture
def server(workspace: Path) -> Iterator[Server]:
    server = Server(workspace)
    yield server
    server.end()


def end(server: Server, how: str) -> None:
    if how == "end of input":
        server.input.close()
    else:
        server.process.send_signal(getattr(signal, how))


ENDS = pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "end of input"])


@ENDS
def test_an_idle_server_ends_cleanly(server: Server, how: str):
    server.call("problem_status", problem="none")
    end(server, how)
    assert server.process.wait(timeout=5) == 0
    assert "Traceback" not in server.errors.read()


@ENDS
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_busy_server_ends_and_leaves_no_worker_behind(server: Server, how: str):
    arguments = {"problem": "twice", "source": ENDLESS}
    server.start("tools/call", name="verify_kernel", arguments=arguments, _meta={"progressToken": 1})
    server.next()
    started = time.monotonic()
    while not (workers := descendants(server.process.pid)):
        assert time.monotonic() - started < 30
        os.sched_yield()
    end(server, how)
    assert server.process.wait(timeout=10) == 0
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() - started < 60
        os.sched_yield()


def test_nothing_but_the_protocol_is_on_stdout_and_the_log_is_in_the_workspace(server: Server, workspace: Path):
    noisy = ENDLESS.replace("while True:\n        pass", "print('passed')\n    return x")
    assert not server.call("verify_kernel", problem="twice", source=noisy)["structuredContent"]["passed"]
    server.call("problem_status", problem="none")
    end(server, "end of input")
    assert server.output.read() == ""
    assert "problem.unknown" in (workspace / ".nki-anvil" / "logs" / "server.log").read_text()


def test_a_wrong_setting_is_told_by_the_call_and_does_not_keep_the_client_from_connecting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("NKI_ANVIL_BEAM", "many")
    server = Server(tmp_path)
    answer = server.call("problem_status", problem="none")
    server.end()
    assert answer["isError"]
    assert "beam" in answer["content"][0]["text"]
    assert "[arguments.invalid]" in answer["content"][0]["text"]


def test_a_command_of_the_command_line_loads_no_mcp(tmp_path: Path):
    code = (
        "import sys; from nki_anvil.server.main import main; sys.argv = ['nki-anvil', 'status', 'nothing']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('mcp', 'asyncssh', 'uvicorn') if name in sys.modules])"
    )
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "[problem.unknown]" in done.stderr
    assert done.stdout.strip() == "[]"


def test_starting_loads_neither_numpy_nor_the_laboratory():
    code = (
        "import sys, nki_anvil.server.stdio; "
        "print([name for name in ('numpy', 'rich', 'typer', 'jinja2', 'asyncssh', 'pydantic_settings', "
        "'nki_anvil.lab.laboratory', 'nki_anvil.tools.catalogue') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
