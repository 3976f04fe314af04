"""A worker that breaks off or writes something else than evidence: always the machine's failure, never a result."""

import json
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.errors import BackendDiskFull, BackendFailed
from nki_anvil.backends.job import Case, Job

pytestmark = pytest.mark.anyio

GOOD: dict[str, Any] = {"job": "", "backend": "simulator", "origin": "modelled", "toolchain": "t"}
CASE = {"key": "own", "inputs_digest": "d"}
TRACE = {"shapes": "default", "outcome": "ok", "outputs": [{"shape": [2], "dtype": "float32"}]}


async def run_with(backend: ChildBackend, job: Job, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr("nki_anvil.backends.child.bootstrap.command", lambda *_: [sys.executable, "-c", script])
    await backend.run(job)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("", "ended without a result"),
        ("import sys; sys.exit('Killed')", "ended without a result. Killed"),
        ("open('run.json', 'w').write('{')", "damaged"),
        ("print('x')", "in a form that is not its own"),
        ("print('x' * 100000)", "in a form that is not its own"),
        ("print('[1]')", "in a form that is not its own"),
    ],
)
async def test_a_worker_that_breaks_off_is_a_failed_backend(
    backend: ChildBackend, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    with pytest.raises(BackendFailed, match=says):
        await run_with(backend, job(""), monkeypatch, script)


async def test_a_worker_that_had_no_room_to_say_that_the_disk_was_full_is_told_as_that(
    backend: ChildBackend, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nki_anvil.backends.child.shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(BackendDiskFull, match="disk is full"):
        await run_with(backend, job(""), monkeypatch, "")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, None),
        ({"job": "of another"}, "belongs to another job"),
        ({"failure": "the executor ran out of memory"}, "ran out of memory"),
        ({"origin": "device!"}, "1 fields are not as they should be"),
        ({"seconds": {"trace": "long"}}, "1 fields are not as they should be"),
        ({"verdict": "passed"}, "1 fields are not as they should be"),
        ({"cases": [CASE], "traces": [TRACE]}, "no archive of arrays"),
        ({"cases": [{**CASE, "outputs": [[1.0]]}]}, "are not as they should be"),
    ],
)
async def test_a_result_of_another_form_is_refused(
    backend: ChildBackend,
    job: Callable[..., Job],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    says: str | None,
) -> None:
    asked = job("", cases=(Case(key="own", seed=1),))
    text = json.dumps({**GOOD, "job": asked.digest(), **changes})
    script = f"open('run.json', 'w').write({text!r})"
    if says is None:
        await run_with(backend, asked, monkeypatch, script)
    else:
        with pytest.raises(BackendFailed, match=says):
            await run_with(backend, asked, monkeypatch, script)


async def test_outputs_of_another_shape_than_the_program_says_are_refused(
    backend: ChildBackend, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = job("", cases=(Case(key="own", seed=1),))
    text = json.dumps({**GOOD, "job": asked.digest(), "cases": [CASE], "traces": [TRACE]})
    script = f"""
import numpy as np
np.savez("outputs.npz", **{{"own/0": np.zeros((1, 2), np.float32)}})
open("run.json", "w").write({text!r})
"""
    with pytest.raises(BackendFailed, match=r"has shape \(1, 2\) where its program says \(2,\)"):
        await run_with(backend, asked, monkeypatch, script)


async def test_a_worker_whose_disk_is_full_says_so(
    backend: ChildBackend, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BackendDiskFull):
        await run_with(backend, job(""), monkeypatch, "import errno, os; raise OSError(28, os.strerror(28))")
