"""Every way in which a host lets a job down, on a real SSH server: what is said, and what is left behind."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from processes import command
from standin_host import KERNEL, StandInHost, keygen, kill

from nki_anvil.backends.errors import (
    BackendBusy,
    BackendDiskFull,
    BackendError,
    BackendUnreachable,
    BackendUnsupported,
    HostKeyChanged,
    HostKeyRefused,
    HostKeyUnknown,
    HostRebooted,
    JobExpired,
    PythonMissing,
    ResultTruncated,
    SdkMissing,
    WorkerKilled,
)
from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.run import Run
from nki_anvil.backends.ssh.backend import STAND_IN, RemoteBackend
from nki_anvil.backends.worker.device import leases

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CASES = (Case(key="c1", seed=1),)

through_a_client = pytest.mark.skipif(
    not os.environ.get("NKI_ANVIL_ENDURANCE"),
    reason="test_faults_of_a_session.py has it through a client; closer to the wire with NKI_ANVIL_ENDURANCE=1",
)

Make = Callable[..., RemoteBackend]
Build = Callable[..., Job]


@pytest.fixture
def text(request: pytest.FixtureRequest) -> str:
    """A kernel of this test's own, so that no other test has compiled it."""
    return KERNEL.replace(
        "def kernel(x, scale):\n", f"def kernel(x, scale):\n    # {request.node.name} {os.getpid()}\n"
    )


def runs(there: StandInHost, since: int) -> int:
    """How many processes have used a core after the first ``since`` lines of the device's log."""
    return len({line["pid"] for line in there.device_log()[since:] if line["event"] == "used"})


async def until(condition: Callable[[], Any]) -> Any:
    """Wait for something that happens on the host."""
    with anyio.fail_after(60):
        while not (found := condition()):  # noqa: ASYNC110
            await anyio.sleep(0.02)
    return found


def jobs_there(there: StandInHost) -> list[Path]:
    folder = there.root / "jobs"
    return [path for path in folder.iterdir() if not path.name.startswith(".")] if folder.exists() else []


def working(there: StandInHost) -> list[int]:
    """Processes that work below the host's folders."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                place = str((entry / "cwd").readlink())
            except OSError:
                continue
            found += [int(entry.name)] if place.startswith(str(there.root)) else []
    return found


def free(there: StandInHost) -> bool:
    folder = there.home / "leases"
    return not folder.exists() or leases.free(folder, range(4)) == [0, 1, 2, 3]


# the connection is cut


class Cutter:
    """Cuts the connection once, when the worker says something with ``word`` in it."""

    def __init__(self, there: StandInHost, word: str) -> None:
        self.there, self.word, self.cuts = there, word, 0
        self.told: list[str] = []

    async def __call__(self, message: str) -> None:
        self.told.append(message)
        if self.word in message and not self.cuts:
            self.cuts += 1
            self.there.cut()


@through_a_client
@pytest.mark.parametrize(("stage", "word"), [("compile", "compiling"), ("run", "case")])
async def test_a_connection_cut_while_the_host_works_is_resumed_without_a_second_run(
    remote: Make, job: Build, there: StandInHost, text: str, stage: str, word: str
) -> None:
    there.switch(**({"compile_seconds": 1} if stage == "compile" else {"run_seconds": 1}))
    backend, before, cutter = remote(), len(there.device_log()), Cutter(there, word)
    run = await backend.run(job(text, cases=CASES), cutter)
    assert run.cases[0].outputs
    assert cutter.cuts == 1
    assert any("lost" in message for message in cutter.told)
    assert runs(there, before) == 1
    assert backend.fleet.posts[0].session.transport.traffic.connections == 2


@through_a_client
async def test_a_connection_cut_while_the_job_is_sent_leaves_nothing_half_done(
    remote: Make, job: Build, there: StandInHost, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, before = remote(), len(there.device_log())
    await backend.facts()
    await _cut_after(monkeypatch, there, sending=True)
    run = await backend.run(job(text, cases=CASES))
    assert run.cases[0].outputs
    assert runs(there, before) == 1


@through_a_client
async def test_a_connection_cut_while_the_result_is_fetched_fetches_it_again(
    remote: Make, job: Build, there: StandInHost, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, before, asked = remote(), len(there.device_log()), job(text, cases=CASES)
    await backend.facts()
    await _cut_after(monkeypatch, there, sending=False)
    run = await backend.run(asked)
    assert run.cases[0].outputs
    assert runs(there, before) == 1
    await until(lambda: not any(path.name.startswith(asked.digest()) for path in jobs_there(there)))


async def _cut_after(monkeypatch: pytest.MonkeyPatch, there: StandInHost, *, sending: bool) -> None:
    """Cut once, in the middle of the next thing that is sent, or of the first result that is fetched."""
    from nki_anvil.backends.ssh.transport import Channel

    send, exactly, cut = Channel.send, Channel.exactly, [False]

    async def half_sent(self: Channel, data: bytes) -> None:
        if sending and not cut[0]:
            cut[0] = True
            await send(self, data[: len(data) // 2])
            await anyio.sleep(0.2)
            there.cut()
            await anyio.sleep(0.2)
            data = data[len(data) // 2 :]
        await send(self, data)

    async def half_fetched(self: Channel, size: int) -> bytes:
        if not sending and not cut[0]:
            cut[0] = True
            await exactly(self, size // 2)
            there.cut()
            await anyio.sleep(0.2)
            return await exactly(self, size)
        return await exactly(self, size)

    monkeypatch.setattr(Channel, "send", half_sent)
    monkeypatch.setattr(Channel, "exactly", half_fetched)


async def test_a_benchmark_that_is_asked_for_again_is_run_again_but_not_when_only_the_connection_was_lost(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    asked = job(text, purpose="benchmark", cases=CASES)
    backend, before = remote(warmups=0, iterations=2), len(there.device_log())
    there.switch(run_seconds=0.5)
    await backend.run(asked, Cutter(there, "on core"))
    assert runs(there, before) == 1
    there.switch()
    await backend.run(asked)
    assert runs(there, before) == 2


async def test_a_host_that_stays_away_is_given_up_after_the_time_that_is_set(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    backend = remote(patience_s=0.5)
    await backend.facts()
    there.stop()
    try:
        with pytest.raises(BackendUnreachable, match="standin"):
            await backend.run(job(text, cases=CASES))
    finally:
        there.listen()


# who may enter


@through_a_client
async def test_a_host_whose_key_changed_is_refused_with_both_commands(remote: Make, there: StandInHost) -> None:
    known = (there.folder / "known_hosts").read_text()
    keygen(there.folder / "other")
    kind, other = (there.folder / "other.pub").read_text().split()[:2]
    (there.folder / "known_hosts").write_text(f"[127.0.0.1]:{there.port} {kind} {other}\n")
    try:
        with pytest.raises(HostKeyChanged, match="ssh-keygen -R") as caught:
            await remote().facts()
        assert caught.value.code == "host.key_changed"
    finally:
        for name in ("other", "other.pub"):
            (there.folder / name).unlink()
        (there.folder / "known_hosts").write_text(known)


async def test_a_host_whose_key_is_unknown_is_refused_with_the_command_that_accepts_it(
    remote: Make, there: StandInHost
) -> None:
    known = (there.folder / "known_hosts").read_text()
    (there.folder / "known_hosts").write_text("")
    try:
        with pytest.raises(HostKeyUnknown, match="Accept it once by hand: ssh -F"):
            await remote().facts()
    finally:
        (there.folder / "known_hosts").write_text(known)


async def test_a_refused_key_says_how_to_try_by_hand(remote: Make, there: StandInHost) -> None:
    keys = there.folder / "authorized_keys"
    accepted = keys.read_text()
    keys.write_text("")
    try:
        with pytest.raises(HostKeyRefused, match="authorized_keys"):
            await remote().facts()
    finally:
        keys.write_text(accepted)


# what the host lacks


def wrapped(there: StandInHost, name: str, sitecustomize: str) -> str:
    """A Python of the host's whose interpreter is changed at its start."""
    folder = there.home / f"site-{name}"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(sitecustomize)
    path = there.home / name
    path.write_text(f'#!/bin/sh\nexport PYTHONPATH="{folder}:$PYTHONPATH"\nexec {there.home / "python"} "$@"\n')
    path.chmod(0o755)
    return str(path)


async def test_a_python_that_is_too_old_is_named(remote: Make, there: StandInHost) -> None:
    old = wrapped(there, "python3.8", "import sys; sys.version_info = (3, 8, 10, 'final', 0)")
    with pytest.raises(PythonMissing, match=r"3\.8\.10.*3\.10 or later"):
        await remote(python=old).facts()


async def test_no_python_is_said_plainly(remote: Make) -> None:
    with pytest.raises(PythonMissing, match="there is no /nowhere/python"):
        await remote(python="/nowhere/python").facts()


async def test_a_host_without_the_sdk_is_refused_and_told_how_to_be_a_simulator(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    bare = there.home / "bare-python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(SdkMissing, match="simulate:standin"):
        await remote(python=str(bare), nrtpy_python=None).run(job(text, cases=CASES))


async def test_a_host_without_devices_is_refused(remote: Make, job: Build, there: StandInHost, text: str) -> None:
    there.switch(no_devices=True)
    with pytest.raises(SdkMissing, match="no Neuron cores"):
        await remote(root=str(there.home / "another")).run(job(text, cases=CASES))


async def test_a_stand_in_is_refused_unless_a_test_asks_for_it(
    remote: Make, job: Build, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(STAND_IN)
    with pytest.raises(BackendUnsupported, match="stand-in"):
        await remote().run(job(text, cases=CASES))


FULL = """
import builtins, errno, os
_open = builtins.open
def _full(file, mode="r", *more, **named):
    if "w" in mode and "/jobs/" in str(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
    return _open(file, mode, *more, **named)
builtins.open = _full
import io
io.open = _full
"""


async def test_a_full_disk_is_said_to_be_full_and_the_half_written_job_is_gone(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    backend = remote(python=wrapped(there, "python-full", FULL))
    with pytest.raises(BackendDiskFull, match="Free some space there"):
        await backend.run(job(text, cases=CASES))
    assert not [path for path in (there.root / "jobs").iterdir() if path.name.startswith(".")]


async def test_a_clock_that_is_a_year_off_changes_nothing(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    skewed = wrapped(there, "python-skewed", "import time; _now = time.time; time.time = lambda: _now() - 365 * 86400")
    backend = remote(python=skewed)
    facts = (await backend.facts())[0]
    assert facts["wall_s"] < 1.9e9
    run = await backend.run(job(text, cases=CASES))
    assert run.cases[0].outputs


# cores


@through_a_client
async def test_cores_that_another_user_holds_make_the_host_busy_and_name_the_holder(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    folder = there.home / "leases"
    held = leases.leased(folder, [(0, 1, 2, 3)], "someone's", 5, lambda _: None)
    with held, pytest.raises(BackendBusy, match=f"held by .*process {os.getpid()}"):
        await remote(lease_s=0.2).run(job(text, cases=CASES))
    assert (await remote().run(job(text, cases=CASES))).cases[0].outputs


async def test_a_core_that_something_uses_without_a_lease_makes_the_host_busy(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    with (there.home / "device.core.0").open("w") as core:
        fcntl.flock(core, fcntl.LOCK_EX)
        with pytest.raises(BackendBusy, match="holds no lease"):
            await remote(cores=(0,)).run(job(text, cases=CASES))


async def test_what_runs_on_the_devices_without_a_lease_is_told_with_the_timings(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    there.switch(strangers=[4711])
    run = await remote(warmups=0, iterations=2).run(job(text, purpose="benchmark", cases=CASES))
    assert run.environment["other_load"] == "processes 4711"


# the worker, the result, the client


def of_runner(there: StandInHost) -> list[int]:
    return [pid for pid in working(there) if "device.runner" in command(pid)]


async def test_a_killed_worker_is_told_and_its_core_is_free_and_the_next_call_works(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    there.switch(run_seconds=60)
    backend = remote()

    async def kill_it(message: str) -> None:
        if "case" in message:
            for pid in of_runner(there):
                kill(pid)

    with pytest.raises(WorkerKilled):
        await backend.run(job(text, cases=CASES), kill_it)
    await until(lambda: free(there))
    there.switch()
    assert (await backend.run(job(text, cases=CASES))).cases[0].outputs


@pytest.mark.parametrize("damage", ["shorter", "other"])
async def test_a_result_that_is_not_what_was_announced_is_refused(
    remote: Make, job: Build, text: str, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    from nki_anvil.backends.ssh.transport import Channel

    exactly = Channel.exactly

    async def damaged(self: Channel, size: int) -> bytes:
        data = await exactly(self, size)
        return data[: size // 2] if damage == "shorter" else data[:-1] + bytes([data[-1] ^ 1])

    monkeypatch.setattr(Channel, "exactly", damaged)
    with pytest.raises(ResultTruncated):
        await remote().run(job(text, cases=CASES))


@through_a_client
async def test_a_client_that_cancels_ends_the_work_there_and_frees_the_core(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    there.switch(run_seconds=60)
    backend, before = remote(), set(jobs_there(there))
    async with anyio.create_task_group() as tasks:

        async def cancel(message: str) -> None:
            if "case" in message:
                tasks.cancel_scope.cancel()

        tasks.start_soon(backend.run, job(text, cases=CASES), cancel)
    await until(lambda: not working(there))
    assert free(there)
    assert set(jobs_there(there)) <= before


async def test_one_of_two_who_wait_for_the_same_job_cancels_only_for_itself(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    there.switch(compile_seconds=1.5)
    asked, before = job(text, cases=CASES), len(there.device_log())
    found: list[Run] = []
    compiling = anyio.Event()

    async def stays() -> None:
        async def heard(message: str) -> None:
            if "compiling" in message:
                compiling.set()

        found.append(await remote().run(asked, heard))

    async with anyio.create_task_group() as both:
        both.start_soon(stays)
        await compiling.wait()
        async with anyio.create_task_group() as tasks:

            async def cancel(message: str) -> None:
                if "compiling" in message:
                    tasks.cancel_scope.cancel()

            tasks.start_soon(remote().run, asked, cancel)
    assert found[0].cases[0].outputs
    assert runs(there, before) == 1


CLIENT = """
import asyncio, sys
from pathlib import Path
from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.job import Job
from nki_anvil.backends.ssh.backend import RemoteBackend
from nki_anvil.backends.ssh.hosts import Host, HostSettings
from nki_anvil.backends.ssh.transport import SshTransport

async def told(message):
    print(message, flush=True)

async def main(folder):
    settings = HostSettings.model_validate_json((folder / "settings.json").read_text())
    host = Host("standin", "standin", None, None, False, settings)
    job = Job(kernel=(folder / "kernel.py").read_text(), **__import__("json").loads((folder / "job.json").read_text()))
    here = ChildBackend(folder / "here", cores=1)
    await RemoteBackend("ssh", [(host, SshTransport(host))], here, folder / "results").run(job, told)

asyncio.run(main(Path(sys.argv[1])))
"""


@through_a_client
async def test_a_server_that_is_killed_leaves_a_job_that_expires_and_a_core_that_is_free(
    job: Build, there: StandInHost, text: str, tmp_path: Path
) -> None:
    there.switch(run_seconds=60)
    asked = job(text, cases=CASES)
    (tmp_path / "kernel.py").write_text(text)
    (tmp_path / "job.json").write_text(asked.model_dump_json())
    (tmp_path / "settings.json").write_text(json.dumps({**there.told(), "grace_s": 0.5}))
    (tmp_path / "client.py").write_text(CLIENT)
    server = await anyio.open_process([sys.executable, str(tmp_path / "client.py"), str(tmp_path)], stderr=None)
    assert server.stdout is not None
    said = b""
    with anyio.fail_after(60):
        while b"case" not in said:
            said += await server.stdout.receive()
    assert not free(there)
    os.kill(server.pid, signal.SIGKILL)
    await server.aclose()
    await until(lambda: free(there) and not working(there))
    events = [line["event"] for line in there.lease_log()]
    assert events.count("leased") >= 1


async def test_a_job_that_expired_while_nobody_listened_is_told_to_who_asks_next(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    there.switch(compile_seconds=2)
    backend = remote(grace_s=0.2)
    cutter = Cutter(there, "compiling")

    async def cut_and_wait(message: str) -> None:
        await cutter(message)
        if "lost" in message:
            await until(lambda: not working(there))

    with pytest.raises(JobExpired):
        await backend.run(job(text, cases=CASES), cut_and_wait)
    there.switch()
    assert (await backend.run(job(text, cases=CASES))).cases[0].outputs


async def test_a_host_that_was_started_again_while_a_job_ran_says_so(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    boots = there.home / "boot"
    boots.write_text("one")
    rebooted = wrapped(
        there,
        "python-boots",
        "import pathlib; _read = pathlib.Path.read_text\n"
        f"pathlib.Path.read_text = lambda self, *a, **k: _read(pathlib.Path({str(boots)!r})) "
        "if str(self).endswith('boot_id') else _read(self, *a, **k)",
    )
    there.switch(compile_seconds=1)
    cutter = Cutter(there, "compiling")

    async def cut(message: str) -> None:
        if "compiling" in message:
            boots.write_text("two")
        await cutter(message)

    with pytest.raises(HostRebooted):
        await remote(python=rebooted).run(job(text, cases=CASES), cut)
    await until(lambda: not working(there))


# what the SDK says


@pytest.mark.parametrize(
    ("switches", "code", "says"),
    [
        ({"run_error": "NRT_EXEC_OOB(1006)"}, "NRT_EXEC_OOB", "out of bounds"),
        ({"run_hang": True}, "Timeout", "did not come to an end"),
    ],
)
async def test_what_a_kernel_does_wrong_on_the_device_is_the_kernels_failure(
    remote: Make, job: Build, there: StandInHost, text: str, switches: dict[str, Any], code: str, says: str
) -> None:
    there.switch(**switches)
    run = await remote(run_s=5 if "run_hang" in switches else 60).run(job(text, cases=CASES))
    assert run.cases[0].error is not None
    assert run.cases[0].error.code == code
    assert says in run.cases[0].error.message


async def test_what_the_compiler_refuses_is_a_failed_trace_with_its_code_and_line(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    there.switch(compile_error="NCC_INKI016")
    run = await remote().run(job(text, cases=CASES))
    assert run.traces[0].outcome == "failed"
    assert run.traces[0].error is not None
    assert run.traces[0].error.code == "NCC_INKI016"
    assert run.traces[0].error.line == 7
    assert not run.cases


async def test_a_compiler_that_hangs_is_ended_and_the_kernel_fails(
    remote: Make, job: Build, there: StandInHost, text: str
) -> None:
    there.switch(compile_hang=True)
    run = await remote(compile_s=3).run(job(text, cases=CASES))
    assert run.traces[0].outcome == "timeout"
    await until(lambda: not working(there))


@pytest.mark.parametrize(
    ("switches", "error", "says"),
    [
        ({"wrong_chip": True}, BackendUnsupported, "cannot run what was compiled"),
        ({"run_crash": True}, BackendError, "ended without a word"),
    ],
)
async def test_what_the_machine_does_wrong_is_no_verdict(
    remote: Make, job: Build, there: StandInHost, text: str, switches: dict[str, Any], error: type, says: str
) -> None:
    there.switch(**switches)
    with pytest.raises(error, match=says):
        await remote().run(job(text, cases=CASES))


async def test_a_compiler_that_needs_a_core_gets_one(remote: Make, job: Build, there: StandInHost, text: str) -> None:
    there.switch(needs_core=True)
    run = await remote().run(job(text, cases=CASES))
    assert run.cases[0].outputs
    assert run.environment["compiled_on_core"]
