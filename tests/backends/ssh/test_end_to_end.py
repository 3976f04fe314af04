"""Problems whose reference is a command, through a real MCP client and a real SSH server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from host_client import losses, session, settings_file
from served import call, refusal
from standin_host import KERNEL, StandInHost

from nki_anvil.backends.worker.device import leases
from nki_anvil.lab.auditing import Audited, audit
from nki_anvil.lab.laboratory import Laboratory

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

COMMAND = '''
"""Stands in for a model: it reports what the kernel's comments say."""
import json, os, re, sys, time
text = open(os.environ["NKI_ANVIL_KERNEL"]).read()
said = dict(re.findall(r"^# (\\w+) (\\S+)", text, re.M))
assert open("prompts.txt").read() == "hello\\n"
assert os.environ["NEURON_RT_VISIBLE_CORES"]
with open(os.environ["STANDIN_HOME"] + "/commands.log", "a") as log:
    log.write(f"{os.getpid()} {said.get('latency', 'none')} {os.environ['NEURON_RT_VISIBLE_CORES']}\\n")
time.sleep(600 if "hang" in said else float(said.get("sleep", 0)))
if "exit" in said:
    print("RuntimeError: the model does not compile")
    sys.exit(int(said["exit"]))
figures = {"latency_ms": said.get("latency"), "throughput": said.get("throughput", 100),
           "accuracy": said.get("accuracy", 1), "nki_flops_share": said.get("share", 0)}
if "lines" in said:
    for name, line in (("accuracy", "Accuracy"), ("latency_ms", "Latency"), ("throughput", "Throughput")):
        print(f"\\t{line}: {figures[name]}")
elif "garbage" in said:
    open(os.environ["NKI_ANVIL_RESULT"], "w").write("{not json")
else:
    with open(os.environ["NKI_ANVIL_RESULT"], "w") as result:
        json.dump({name: value and float(value) for name, value in figures.items()}, result)
'''

TOML = """
[e2e]
command = "python evaluate.py"
files = ["evaluate.py", "prompts.txt"]
accuracy_min = 0.99
seconds = {seconds}
"""


def kernel(**says: Any) -> str:
    return "".join(f"# {name} {value}\n" for name, value in says.items()) + KERNEL


@pytest.fixture
def workspace(tmp_path: Path, there: StandInHost) -> Path:
    write(tmp_path)
    settings_file(tmp_path, there)
    return tmp_path


def write(workspace: Path, seconds: float = 60.0) -> None:
    folder = workspace / "model"
    folder.mkdir(exist_ok=True)
    (folder / "problem.toml").write_text(TOML.format(seconds=seconds))
    (folder / "evaluate.py").write_text(COMMAND)
    (folder / "prompts.txt").write_text("hello\n")
    (folder / "kernel.py").write_text(kernel(latency=100))


async def test_a_model_is_opened_verified_kept_and_reverted_by_what_its_command_reports(
    workspace: Path, there: StandInHost
) -> None:
    working, jobs = workspace / "model" / "kernel.py", set((there.root / "jobs").glob("*"))
    async with session(workspace) as client:
        opened = await call(client, "open_problem", reference="model")
        assert opened["origin"] == "device"
        assert opened["baseline"]["latency_us"] == 100_000

        better = kernel(latency=80, throughput=120, share=0.5)
        working.write_text(better)
        verdict = await call(client, "verify_kernel", problem="model")
        assert verdict["passed"], verdict
        gates = {gate["name"]: gate["passed"] for gate in verdict["gates"]}
        assert gates.pop("values") is True
        assert gates.pop("language") is True
        assert set(gates.values()) == {None}
        before = len(runs(there))
        kept = await call(client, "benchmark_kernel", problem="model")
        assert kept["outcome"] == "keep", kept
        in_turns(runs(there)[before:])
        assert kept["speedup"] == pytest.approx(1.25), "of the latency alone"
        assert kept["score"]["score"] == pytest.approx(1.25 * 1.2 * 1.5)
        assert kept["score"]["ratio"] == pytest.approx(1.25 * 1.2 * 1.5)
        assert "reported by the command itself" in kept["flags"]
        assert "score" in kept["summary"]

        working.write_text(kernel(latency=79, throughput=60, share=0.5))
        assert (await call(client, "verify_kernel", problem="model"))["passed"]
        worse = await call(client, "benchmark_kernel", problem="model")
        assert worse["outcome"] == "revert", "a little faster, and half the throughput"
        assert worse["speedup"] > 1
        assert working.read_text() == better
        assert "no profile of a single kernel" in await refusal(client, "profile_kernel", problem="model")
        prompt = str((await client.get_prompt("implement", {"problem": "model"})).messages[0].content)
        assert "judged by its command" in prompt
        assert "```toml" in prompt
        assert "[e2e]" in prompt
    assert set((there.root / "jobs").glob("*")) <= jobs, "nothing is left on the host"
    assert [line for line in there.lease_log() if line["event"] == "leased"]
    assert audited(workspace).clean


def in_turns(ran: list[str]) -> None:
    """Best is run again beside the new one in every round, the order turned over, on one core."""
    plan = [line.split()[1:] for line in ran[-12:]]
    pairs = [(first[0], second[0]) for first, second in zip(plan[::2], plan[1::2], strict=True)]
    assert set(pairs) == {("100", "80"), ("80", "100")}
    assert len({core for _, core in plan}) == 1


def audited(workspace: Path) -> Audited:
    data = Path(f"{workspace}-data")
    lab = Laboratory(workspace, data, {}, np.random.default_rng(), lambda: datetime.now(UTC))
    return audit(lab, "model")


async def test_what_a_command_does_wrong_is_a_failed_verdict_that_says_what(
    workspace: Path, there: StandInHost
) -> None:
    write(workspace, seconds=3)
    wrong = {
        "no latency": (kernel(), "the result file has no latency_ms"),
        "a broken file": (kernel(latency=5, garbage=1), "not JSON"),
        "an exit": (kernel(latency=5, exit=3), "status 3. It last said: RuntimeError: the model does not compile"),
        "nonsense": (kernel(latency="-4"), "latency_ms makes no sense: -4"),
        "too little": (kernel(latency=5, accuracy=0.7), "accuracy of 0.7, and at least 0.99 is wanted"),
        "a hang": (kernel(latency=5, hang=1), "did not come to an end within 3 s"),
        "an escape": ("import os\n" + kernel(latency=5).replace("return out", "os.system('true')\n    return out"), ""),
        "an import": (kernel(latency=5) + "\n\ndef forge():\n    import os\n\n\nFIGURES = forge()\n", ""),
    }
    unread = ("an escape", "an import")
    async with session(workspace, NKI_ANVIL_GUARD_REFUSES="false") as client:
        await call(client, "open_problem", reference="model")
        ran = len(runs(there))
        for name, (source, says) in wrong.items():
            verdict = await call(client, "verify_kernel", problem="model", source=source)
            assert verdict["passed"] is False, name
            failed = next(gate for gate in verdict["gates"] if gate["passed"] is False)
            assert says in failed["detail"], name
            assert failed["name"] == ("language" if name in unread else "values")
            assert "gate.unverified" in await refusal(client, "benchmark_kernel", problem="model", source=source)
        assert len(runs(there)) == ran + len(wrong) - len(unread), "no command has imported the text that was refused"
        lines = kernel(latency=90, accuracy="True", lines=1)
        assert (await call(client, "verify_kernel", problem="model", source=lines))["passed"], "figures from its output"


def runs(there: StandInHost) -> list[str]:
    log = there.home / "commands.log"
    return log.read_text().splitlines() if log.exists() else []


async def test_a_lost_connection_loses_no_run_and_cancelling_ends_the_command_and_frees_its_core(
    workspace: Path, there: StandInHost
) -> None:
    async with session(workspace) as client:
        await call(client, "open_problem", reference="model")
        before, lost = len(runs(there)), losses(workspace)

        async def cut(progress: float, total: float | None, message: str | None) -> None:
            if "running the command" in (message or "") and losses(workspace) == lost:
                there.cut()

        slow = {"problem": "model", "source": kernel(latency=60, sleep=2)}
        answer = await client.call_tool("verify_kernel", slow, progress_callback=cut)
        assert answer.structured_content
        assert answer.structured_content["passed"], answer.structured_content
        assert losses(workspace) > lost
        assert len(runs(there)) == before + 1

        started = anyio.Event()

        async def told(progress: float, total: float | None, message: str | None) -> None:
            if message and "running the command" in message:
                started.set()

        async with anyio.create_task_group() as tasks:

            async def verify() -> None:
                arguments = {"problem": "model", "source": kernel(latency=5, hang=1)}
                await client.call_tool("verify_kernel", arguments, progress_callback=told)

            tasks.start_soon(verify)
            await started.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(30):
            while leases.free(there.home / "leases", range(4)) != [0, 1, 2, 3]:  # noqa: ASYNC110
                await anyio.sleep(0.05)
        assert (await call(client, "verify_kernel", problem="model", source=kernel(latency=70)))["passed"]


async def test_where_nothing_is_measured_a_command_is_refused_before_it_runs(
    workspace: Path, there: StandInHost
) -> None:
    ran = len(runs(there))
    async with session(workspace, NKI_ANVIL_HOSTS="simulate:standin", NKI_ANVIL_BACKEND="simulator") as client:
        for backend in ("simulator", "ssh-simulator"):
            said = await refusal(client, "open_problem", reference="model", backend=backend)
            assert "[backend.unsupported]" in said
            assert "without a device" in said
        assert "There is no open problem" in await refusal(client, "problem_status", problem="model")
    assert len(runs(there)) == ran


async def test_a_file_that_changes_after_opening_and_a_command_that_is_not_there_are_told(
    workspace: Path, there: StandInHost
) -> None:
    async with session(workspace) as client:
        await call(client, "open_problem", reference="model")
        (workspace / "model" / "prompts.txt").write_text("other\n")
        assert "[problem.changed]" in await refusal(client, "verify_kernel", problem="model")
        toml = workspace / "model" / "problem.toml"
        toml.write_text(toml.read_text().replace("python evaluate", "/nowhere/python evaluate"))
        said = await refusal(client, "open_problem", reference="model", name="other")
        assert "cannot be started" in said
        assert "[problem.invalid]" in said


async def test_the_template_runs_as_it_is(workspace: Path, there: StandInHost) -> None:
    async with session(workspace) as client:
        opened = await call(client, "open_problem", reference="seed:end_to_end")
        assert opened["baseline"], opened
        assert opened["kernel_path"] == "kernels/end_to_end/kernel.py"
