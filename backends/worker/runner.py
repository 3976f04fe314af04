"""Carries out one job folder: kernel processes, then the executor, then ``run.json``. ``python -m ... runner FOLDER``.

It never imports kernel text and judges nothing. With ``--attached`` it ends, and everything it started, when its
standard input closes; without, it outlives a lost connection, and whoever asks again finds its result.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import platform
import resource
import signal
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Optional

from nki_anvil.backends.worker import bootstrap, isolation, kernel_runs, other_shapes, records, simulator
from nki_anvil.backends.worker.children import Children, Process
from nki_anvil.backends.worker.kernel_runs import KernelRun

PROTOCOL = 1
RUN = "run.json"
EXECUTOR = "nki_anvil.backends.worker.executor"
_CHECK_S = 120.0
"""What validation, rules and cost of one shape set may take on top of executing its cases."""
_LINE_BYTES = 64 << 20

Pair = tuple["Future[KernelRun]", "Future[KernelRun]"]


def main() -> None:
    """Run the job, or find that it has been run."""
    parser = argparse.ArgumentParser(prog="nki-anvil-runner", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--attached", action="store_true", help="end when standard input closes")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="kernel processes at once")
    arguments = parser.parse_args()
    isolation.adopt_orphans()
    children = Children()
    if arguments.attached:
        isolation.die_with_parent()
        threading.Thread(target=_end_with_input, args=(children,), daemon=True).start()
    with _alone(arguments.folder):
        Runner(arguments.folder, children, arguments.cores).run()


class Runner:
    """One job folder and what came of it so far."""

    def __init__(self, folder: Path, children: Children, cores: int) -> None:
        self.folder, self.children, self.cores = folder, children, cores
        text, self.kernel = (folder / "job.json").read_bytes(), (folder / "kernel.py").read_bytes()
        self.digest = hashlib.sha256(text + self.kernel).hexdigest()
        self.job: dict[str, Any] = json.loads(text)
        self.traces: list[dict[str, Any]] = []
        self.cases: list[dict[str, Any]] = []
        self.profiles: list[dict[str, Any]] = []
        self.environment = {"python": platform.python_version(), "platform": platform.platform()}
        self.seconds: dict[str, float] = {}
        self.failure: Optional[str] = None
        self.executing = False
        self.beyond_bounds: Optional[dict[str, Any]] = None
        """How a program ended the executor, as a trace: no further shape set is tried."""

    def run(self) -> None:
        """Do the work unless ``run.json`` says that it is done."""
        if self._finished():
            return
        if self.job["protocol"] != PROTOCOL:
            self.failure = f"this worker speaks protocol {PROTOCOL}, the job {self.job['protocol']}"
        else:
            self._run()
        self._write()

    def _finished(self) -> bool:
        try:
            run = json.loads((self.folder / RUN).read_bytes())
        except (OSError, ValueError):
            return False
        return run.get("job") == self.digest and not run.get("failure") and self.job["purpose"] != "benchmark"

    def _run(self) -> None:
        _say("tracing")
        with ThreadPoolExecutor(self.cores) as pool, self._executor() as process:
            sets = self.job["shape_sets"]
            pairs = [
                (one, self._traced_twice(pool, one, other_shapes.before(one, sets, f"{self.digest} {one['name']}")))
                for one in sets
            ]
            for shape_set, pair in pairs:
                started = time.monotonic()
                try:
                    first, second = (future.result() for future in pair)
                except kernel_runs.NeverStarted as error:
                    self.failure = str(error)
                    return
                self.seconds["trace"] = self.seconds.get("trace", 0.0) + time.monotonic() - started
                self._shape_set(process, shape_set["name"], first, second)

    @contextmanager
    def _executor(self) -> Generator[Process]:
        """An executor, which loads the simulator while kernels are traced; it must come to its own end."""
        command = bootstrap.command(EXECUTOR, str(self.folder))
        process = self.children.start(command, str(self.folder), isolation.environment(0))
        assert process.stdin is not None
        try:
            yield process
            with suppress(BrokenPipeError):
                process.stdin.close()
            if self.executing and process.wait() and not self.beyond_bounds:
                self.failure = self.failure or f"the executor ended too early (status {process.returncode})"
        finally:
            self.children.end(process)

    def _traced_twice(self, pool: ThreadPoolExecutor, shape_set: dict[str, Any], others: list[dict[str, Any]]) -> Pair:
        text = self.kernel.decode(errors="replace")
        # Each job has hash seeds of its own, and a retry has the same.
        seeds = (int(self.digest[:8], 16), int(self.digest[8:16], 16))
        known = (self.children, str(self.folder), self.job, text, shape_set)
        first = pool.submit(kernel_runs.run, *known, seeds[0])
        return first, pool.submit(kernel_runs.run, *known, seeds[1], others=others)

    def _shape_set(self, process: Process, name: str, first: KernelRun, second: KernelRun) -> None:
        known = {"shapes": name, "entry": first.entry, "left_out": first.left_out, "printed": first.printed}
        failed = first if first.outcome != "ok" else second if second.outcome != "ok" else None
        if failed is not None:
            error = failed.error if failed is first else _as_it_stands(failed.error)
            self.traces.append({**known, "outcome": failed.outcome, "error": error, "printed": failed.printed})
            return
        stem = f"program.{len(self.traces)}"
        files = [self._store(f"{stem}.first", first.program), self._store(f"{stem}.second", second.program)]
        self.traces.append({**known, **self._executed(process, {"shapes": name, "programs": files})})

    def _executed(self, process: Process, request: dict[str, Any]) -> dict[str, Any]:
        """Let the executor do one shape set; returns its part of the trace."""
        assert process.stdin is not None
        assert process.stdout is not None
        if self.beyond_bounds:
            return self.beyond_bounds
        self.executing = True
        trace: dict[str, Any] = {"outcome": "malformed"}
        late = threading.Event()
        seconds = self.job["limits"]["execute_s"] + _CHECK_S
        killer = threading.Timer(seconds, lambda: (late.set(), isolation.end_group(process.pid)))
        killer.start()
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            while line := process.stdout.readline(_LINE_BYTES):
                message = json.loads(line)
                if "trace" in message:
                    trace = {**trace, **message["trace"]}
                if "choices" in message:
                    trace["choices"] = message["choices"]
                if self._take(message):
                    return trace
        except BrokenPipeError:
            pass  # its exit status tells
        finally:
            killer.cancel()
        process.wait()
        self.beyond_bounds = kernels_fault(process.returncode, seconds if late.is_set() else None, _largest_child())
        return self.beyond_bounds or trace

    def _take(self, message: dict[str, Any]) -> bool:
        """One line of the executor's; True at the end of the shape set."""
        if "progress" in message:
            _say(message["progress"])
        if "case" in message:
            self.cases.append(message["case"])
        if "profile" in message:
            self.profiles.append(message["profile"])
        self.environment.update(message.get("environment", {}))
        self.failure = self.failure or message.get("failure")
        for stage, seconds in message.get("seconds", {}).items():
            self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        return "end" in message

    def _store(self, name: str, data: bytes) -> str:
        path = self.folder / name
        path.write_bytes(data)
        return str(path)

    def _write(self) -> None:
        """Replace ``run.json`` in one step."""
        samples = None
        if self.job["purpose"] == "benchmark" and self.profiles:
            samples = {"us": [self.profiles[0]["latency_us"]], "timer": "model", "warmups": 0}
        run = {
            "protocol": PROTOCOL,
            "job": self.digest,
            "backend": "simulator",
            "origin": "modelled",
            "toolchain": simulator.version(),
            "environment": self.environment,
            "traces": [_with_text(trace, self.kernel) for trace in self.traces],
            "cases": [_with_text(case, self.kernel) for case in self.cases],
            "profiles": self.profiles,
            "samples": samples,
            "failure": self.failure,
            "seconds": self.seconds,
        }
        temporary = self.folder / (RUN + ".new")
        temporary.write_bytes(records.as_bytes(run))
        temporary.replace(self.folder / RUN)


def _as_it_stands(error: Optional[dict[str, Any]]) -> Optional[dict[str, Any]]:
    """What went wrong only where all of the file is executed."""
    return error and {**error, "message": f"When the file is imported as it stands: {error['message']}"}


def kernels_fault(status: int, late_after_s: Optional[float], resident: int) -> Optional[dict[str, Any]]:
    """The trace of a program that the executor did not survive; None where the machine is to blame.

    ``resident`` is the most memory that a child has held: killed while it held more than half of the machine's, it was
    the program's doing.
    """
    if late_after_s is not None:
        message = f"Checking and executing the program took more than {late_after_s:g} s."
        return {"outcome": "timeout", "error": _error("Timeout", message)}
    if status == -signal.SIGKILL and resident > isolation.physical_bytes() // 2:
        message = f"Executing the program took {resident >> 20} MiB of memory, and the system ended it."
        return {"outcome": "failed", "error": _error("OutOfMemory", message)}
    return None


def _error(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "line": None, "text": "", "remedy": "Use fewer or smaller tensors."}


def _largest_child() -> int:
    """Bytes that the largest child that has ended held in memory; Linux counts in KiB, macOS in bytes."""
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


def _with_text(record: dict[str, Any], kernel: bytes) -> dict[str, Any]:
    """Error and findings with the kernel's own line beside its number."""
    lines = kernel.decode(errors="replace").splitlines()
    error: Optional[dict[str, Any]] = record.get("error")
    places: list[dict[str, Any]] = [
        *record.get("findings", []),
        *record.get("choices", []),
        *([error] if error else []),
    ]
    for place in places:
        number = place.get("line")
        if not place.get("text") and number and 0 < number <= len(lines):
            place["text"] = lines[int(number) - 1].strip()
    return record


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Only one runner works in a folder; a second waits and then finds the first one's result."""
    with (folder / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _end_with_input(children: Children) -> None:
    while os.read(0, 4096):
        pass
    children.end_all()
    os._exit(1)


def _say(progress: str) -> None:
    sys.stdout.write(json.dumps({"progress": progress}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
