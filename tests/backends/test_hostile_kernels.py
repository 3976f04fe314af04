"""Kernel text that attacks what runs it: each is stopped, reported as the kernel's fault, and leaves nothing behind."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.job import Job, Limits
from nki_anvil.backends.run import Trace

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="walls of Linux")]

QUICK = Limits(trace_s=0.5, memory_bytes=1 << 29, program_bytes=1 << 20)

FORGED = """
    import os
    for channel in range(3, 64):
        try:
            os.write(channel, {message})
        except OSError:
            pass
    os._exit(0)
"""
STOLEN = """
    import os, sys
    frame = sys._getframe()
    while "deliver" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["deliver"]({answer})
    os._exit(0)
"""


async def trace(backend: ChildBackend, job: Callable[..., Job], body: str) -> Trace:
    run = await backend.run(job(f"def kernel(x, scale):\n    {body.strip()}\n", limits=QUICK))
    return run.traces[0]


@pytest.mark.parametrize(
    ("body", "outcome", "says"),
    [
        pytest.param("while True: pass", "timeout", "Timeout", id="never ends"),
        pytest.param(
            "try:\n        while True: pass\n    except Exception:\n        pass", "timeout", "Timeout", id="catches"
        ),
        pytest.param(
            "def spin():\n        while True: pass\n"
            "    while True:\n        try: spin()\n        except BaseException: pass",
            "timeout",
            "was killed",
            id="catches everything",
        ),
        pytest.param("while True: print('x' * 4096)", "timeout", "Timeout", id="floods its output"),
        pytest.param("import sys; sys.exit(0)", "exited", "SystemExit", id="exits"),
        pytest.param("import os; print('PASSED'); os._exit(0)", "exited", "Exited", id="claims success and leaves"),
        pytest.param("import ctypes; ctypes.string_at(0)", "exited", "Exited", id="crashes"),
        pytest.param("raise KeyboardInterrupt", "failed", "KeyboardInterrupt", id="raises what except misses"),
        pytest.param("return kernel(x, scale)", "failed", "recurses without end", id="recurses"),
        pytest.param(
            "import numpy\n    keep = []\n    while True: keep.append(numpy.zeros(1 << 24))",
            "failed",
            "MemoryError",
            id="hoards",
        ),
        pytest.param("import os\n    while True: os.fork()", "failed", "PermissionError", id="forks without end"),
        pytest.param("import os; os.setsid()", "failed", "PermissionError", id="leaves its session"),
        pytest.param("import subprocess; subprocess.run(['true'])", "failed", "PermissionError", id="starts a program"),
        pytest.param("import socket; socket.socket()", "failed", "PermissionError", id="reaches for the network"),
        pytest.param("import os; os.kill(os.getppid(), 9)", "failed", "PermissionError", id="kills the runner"),
        pytest.param("open('result', 'w')", "failed", "PermissionError", id="writes a file"),
        pytest.param("open('/etc/hostname')", "failed", "PermissionError", id="reads a file"),
        pytest.param("import os; os.listdir('/proc')", "failed", "PermissionError", id="looks at other processes"),
        pytest.param("import os; os.chmod('/tmp', 0)", "failed", "PermissionError", id="changes permissions"),
        pytest.param(FORGED.format(message="b'x' * 48"), "malformed", "Malformed", id="answers without the nonce"),
        pytest.param(FORGED.format(message="b'0' * (4 << 20)"), "too_large", "TooLarge", id="floods the channel"),
        pytest.param(STOLEN.format(answer="None, 5"), "malformed", "Malformed", id="answers nonsense with the nonce"),
        pytest.param(
            STOLEN.format(answer="'kernel', [], {'code': 'Odd', 'line': -(10 ** 9)}"),
            "failed",
            "Odd",
            id="fails nowhere",
        ),
        pytest.param("raise ValueError(chr(0xD800))", "failed", "ValueError: ?", id="says what is no character"),
        pytest.param(
            STOLEN.format(answer="'kernel', [], None, b'NKIPROG'"), "malformed", "ProgramError", id="sends no program"
        ),
    ],
)
async def test_a_kernel_that_attacks_is_stopped_and_leaves_nothing(
    backend: ChildBackend,
    job: Callable[..., Job],
    working_below: Callable[[], list[int]],
    tmp_path: Path,
    body: str,
    outcome: str,
    says: str,
) -> None:
    found = await trace(backend, job, body)
    assert found.error is not None
    assert found.outcome == outcome
    assert says in f"{found.error.code}: {found.error.message}"
    assert working_below() == []
    assert [*(tmp_path / "jobs").iterdir(), *(tmp_path / "scratch").iterdir()] == []


async def test_what_a_kernel_prints_is_capped_and_has_no_authority(
    backend: ChildBackend, job: Callable[..., Job]
) -> None:
    found = await trace(backend, job, "print('y' * (1 << 20)); raise ValueError")
    assert found.outcome == "failed"
    assert found.printed == "y" * QUICK.printed_bytes


async def test_a_kernel_sees_an_environment_of_its_own(
    backend: ChildBackend, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    found = await trace(backend, job, "import os; raise ValueError(sorted(os.environ))")
    assert found.error is not None
    assert "PYTHONHASHSEED" in found.error.message
    assert "AWS_SECRET_ACCESS_KEY" not in found.error.message
    assert "HOME" not in found.error.message


async def test_a_kernel_that_hangs_is_told_the_line_at_which_it_did(
    backend: ChildBackend, job: Callable[..., Job]
) -> None:
    found = await trace(backend, job, "n = 0\n    while True:\n        n += 1")
    assert found.error is not None
    assert found.error.line in (3, 4)
    assert found.error.text in ("while True:", "n += 1")
    assert "A loop never ends, or is unrolled too far: bound it" in found.error.remedy


async def test_a_kernel_learns_neither_purpose_nor_seeds(backend: ChildBackend, job: Callable[..., Job]) -> None:
    body = """
    import sys
    frame, seen = sys._getframe(), {}
    while frame:
        seen.update(frame.f_locals.get("request") or {})
        frame = frame.f_back
    raise ValueError(sorted(seen))
    """
    found = await trace(backend, job, body)
    assert found.error is not None
    assert found.error.message == "ValueError: " + str(
        ["chip", "entry", "inputs", "kernel", "limits", "lnc", "readable", "version"]
    )
