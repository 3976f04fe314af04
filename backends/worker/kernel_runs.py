"""The runner's side of a kernel process: starts one for a shape set and says what came of it."""

from __future__ import annotations

import json
import os
import secrets
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Optional

from nki_anvil.backends.worker import answer, bootstrap, isolation
from nki_anvil.backends.worker.children import Children, Ear, Process, listen

MODULE = "nki_anvil.backends.worker.kernel_process"
START_S = 60.0
"""What starting Python and importing the simulator may take on a busy machine."""
GRACE_S = 1.0
"""After the tracing limit, a kernel is interrupted; this much later, it is killed."""

_TIMES = 2
"""The time for tracing, for a process that calls a kernel again: once to trace it, once to look at what it is then."""


@dataclass(frozen=True)
class KernelRun:
    """One trace in one fresh process. ``program`` is empty unless the outcome is ``ok``."""

    outcome: str
    error: Optional[dict[str, Any]]
    entry: Optional[str]
    left_out: list[str]
    printed: str
    program: bytes


class NeverStarted(Exception):
    """The process did not come so far as to touch kernel text: the machine's failure, not the kernel's."""


_OUTCOMES = {"Timeout": "timeout", "SystemExit": "exited", "TooLarge": "too_large"}


def run(
    children: Children,
    place: str,
    job: dict[str, Any],
    kernel: str,
    shape_set: dict[str, Any],
    hash_seed: int,
    *,
    others: Optional[Sequence[dict[str, Any]]] = None,
) -> KernelRun:
    """Trace the kernel at one shape set; what the kernel does wrong is in the result. Raises NeverStarted.

    Of the statements that tracing keeps; or, with ``others``, shape sets that it is called at before, of all as whoever
    imports the text executes them.

    Its empty folder is made in ``place``, which somebody removes even if this process is killed.
    """
    limits = job["limits"]
    longest_s = limits["trace_s"] * (1 if others is None else _TIMES)
    nonce = secrets.token_hex(answer.NONCE_BYTES // 2)
    channel, printed = Ear(answer.largest(limits["program_bytes"])), Ear(limits["printed_bytes"], deaf_at_limit=True)
    reader, writer = os.pipe()
    with tempfile.TemporaryDirectory(prefix="trace-", dir=place, ignore_cleanup_errors=True) as folder:
        process = _start(children, folder, writer, isolation.environment(hash_seed, filled=others is not None))
        os.close(writer)
        ears = {reader: channel, _stdout(process): printed}
        before = None if others is None else [_inputs(other) for other in others]
        known = {**_visible(job), "inputs": _inputs(shape_set), "others": before}
        _ask(process, {**known, "longest_s": longest_s, "kernel": kernel, "nonce": nonce, "channel": writer})
        in_time = _starts(process, ears, channel) and _traces(process, ears, longest_s)
        status = children.end(process)
        for descriptor in ears:
            os.close(descriptor)
    return _judge(channel, printed, nonce, in_time, status, limits)


def _start(children: Children, folder: str, writer: int, environment: dict[str, str]) -> Process:
    return children.start(bootstrap.command(MODULE), folder, environment, merged=True, pass_fds=(writer,))


def _visible(job: dict[str, Any]) -> dict[str, Any]:
    """All that a kernel process learns beside its inputs: no purpose, no cases, no seeds, no round."""
    return {**{name: job[name] for name in ("entry", "chip", "version", "lnc", "limits")}, "readable": _readable()}


def _inputs(shape_set: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: spec[name] for name in ("name", "shape", "dtype", "value")} for spec in shape_set["inputs"]]


def _readable() -> list[str]:
    """What Python may still have to import while tracing."""
    python = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    libraries = [f"{folder}/{name}" for folder in bootstrap.library_folders() for name in bootstrap.LIBRARIES]
    return [*python, *libraries, *bootstrap.places()["nki_anvil.sim"]]


def _stdout(process: Process) -> int:
    """A descriptor of its own for what the kernel prints."""
    assert process.stdout is not None
    descriptor = os.dup(process.stdout.fileno())
    process.stdout.close()
    return descriptor


def _ask(process: Process, request: dict[str, Any]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as stream:  # one that died early has printed why
        stream.write(json.dumps(request).encode())


def _starts(process: Process, ears: dict[int, Ear], channel: Ear) -> bool:
    """Wait until all walls are up; only then the kernel's own time begins."""
    return listen(process, ears, time.monotonic() + START_S, lambda: len(channel.data) >= answer.NONCE_BYTES)


def _traces(process: Process, ears: dict[int, Ear], longest_s: float) -> bool:
    return listen(process, ears, time.monotonic() + longest_s + GRACE_S)


def _judge(ear: Ear, printed: Ear, nonce: str, in_time: bool, status: int, limits: dict[str, Any]) -> KernelRun:
    text, data = printed.data.decode(errors="replace"), bytes(ear.data)
    if not answer.started(data, nonce):
        raise NeverStarted(f"the kernel process did not start (status {status}): {text.strip()[-300:]}")
    data = data[answer.NONCE_BYTES :]
    if ear.overflown:
        return _failure("too_large", f"The program has more than {limits['program_bytes']} bytes.", text)
    if not in_time:
        return _failure("timeout", f"Tracing did not end within {limits['trace_s']:g} s and was killed.", text)
    if not data:
        return _failure("exited", _ending(status), text)
    try:
        found = answer.unpack(data, nonce)
    except answer.Malformed as error:
        return _failure("malformed", f"The kernel process gave no valid answer: {error}.", text)
    outcome = "ok" if found.error is None else _OUTCOMES.get(found.error["code"], "failed")
    return KernelRun(outcome, found.error, found.entry, found.left_out, text, found.program)


def _failure(outcome: str, message: str, printed: str) -> KernelRun:
    code = outcome.title().replace("_", "")
    error = {"code": code, "message": message, "line": None, "text": "", "remedy": ""}
    return KernelRun(outcome, error, None, [], printed, b"")


def _ending(status: int) -> str:
    how = f"was ended by signal {-status}" if status < 0 else f"ended with exit status {status}"
    return f"The kernel process {how} before the kernel was traced."
