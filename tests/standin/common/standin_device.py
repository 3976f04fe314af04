"""The device of the stand-in SDK: NEFFs that hold a simulator's program, and cores that one process at a time can have.

``switches.json`` in ``$STANDIN_HOME`` makes it fail; every use of a core is written to ``device.jsonl`` there.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import random
import signal
import tarfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from standin_switches import HOME, STAND_IN, switches

__all__ = ["STAND_IN", "switches"]

HEADER_BYTES = 1024
RUN_S = 2e-3
"""What a run takes at least, so that overlapping uses of a core would meet."""


class NrtError(RuntimeError):
    """As the runtime's binding raises it."""


def nrt(status: str, message: str) -> NrtError:
    return NrtError(f"NRT Error {status}: {message}")


# NEFFs


def neff(program: Any, inputs: list[str]) -> bytes:
    """A header with a random identifier, then an archive."""
    stream = io.BytesIO()
    parts = {"program.bin": program.encode(), "io.json": json.dumps({"inputs": inputs}).encode()}
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in parts.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(data), int(time.time())
            archive.addfile(member, io.BytesIO(data))
    return uuid.uuid4().hex.encode().ljust(HEADER_BYTES, b"\0") + stream.getvalue()


@dataclass
class Loaded:
    program: Any
    inputs: list[str]
    data: bytes = b""

    def specs(self, role: str) -> list[tuple[str, tuple[int, ...], int]]:
        """Name, shape and bytes of inputs or outputs."""
        from nki_anvil.sim import dtypes

        program = self.program
        if role == "outputs":
            accesses = [int(access) for access in program.tables["outputs"]["access"]]
            kinds = [dtypes.NAMES[int(program.tables["accesses"]["dtype"][access])] for access in accesses]
            shapes = [tuple(int(n) for n in program.shape(access)) for access in accesses]
            names = [f"output_{position}" for position in range(len(accesses))]
            widths = [np.dtype(dtypes.numpy_dtype(kind)).itemsize for kind in kinds]
            return [(n, s, w * int(np.prod(s))) for n, s, w in zip(names, shapes, widths, strict=True)]
        return [(name, (), 0) for name in self.inputs]


def load(path: str) -> Loaded:
    from nki_anvil.sim.program import decode

    if switches().get("wrong_chip"):
        raise nrt("NRT_FAILURE(6)", "the NEFF was compiled for a different target architecture")
    try:
        data = Path(path).read_bytes()[HEADER_BYTES:]
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            parts = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    except (OSError, tarfile.TarError) as error:
        raise nrt("NRT_FAILURE(1)", f"Failed to load model: {error}") from error
    return Loaded(decode(parts["program.bin"]), json.loads(parts["io.json"])["inputs"])


# cores


class Cores:
    """The visible cores, which nobody else can have until this process ends."""

    held: list[int] = []

    @classmethod
    def occupy(cls) -> None:
        if cls.held:
            return
        visible = os.environ.get("NEURON_RT_VISIBLE_CORES", "")
        if not visible:
            raise nrt("NRT_INVALID(2)", "no visible NeuronCores")
        size = int(os.environ.get("NEURON_LOGICAL_NC_CONFIG", "1"))
        for core in (int(one) * size + part for one in visible.split(",") for part in range(size)):
            descriptor = os.open(HOME / f"device.core.{core}", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                note("collision", core)
                raise nrt("NRT_RESOURCE(4)", f"Logical Neuron Core(s) not available - Requested:{visible}") from None
            cls.held.append(descriptor)
            note("used", core)


def note(event: str, core: int) -> None:
    line = json.dumps({"event": event, "core": core, "pid": os.getpid(), "monotonic_ns": time.monotonic_ns()})
    descriptor = os.open(HOME / "device.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, line.encode() + b"\n")
    os.close(descriptor)


# running


def run(loaded: Loaded, arrays: list[Any]) -> tuple[list[Any], list[Any]]:
    """Outputs, and the inputs as they are afterwards."""
    from nki_anvil.sim.execution import Executable, ExecutionError

    Cores.occupy()
    found = switches()
    if found.get("run_error"):
        raise nrt(found["run_error"], "Failed to execute model")
    if found.get("run_crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    while found.get("run_hang"):
        time.sleep(1)
    time.sleep(RUN_S + float(found.get("run_seconds", 0)))
    try:
        outcome = Executable(loaded.program).run(arrays)
    except ExecutionError as error:
        raise nrt("NRT_EXEC_OOB(1006)", f"Failed to execute model: {error}") from error
    return outcome.outputs, outcome.inputs_after


def written(loaded: Loaded, arrays: list[Any], outputs: list[Any]) -> list[Any]:
    """Which elements of the outputs the kernel writes: those that do not depend on what fresh memory holds."""
    from nki_anvil.sim.execution import Executable

    again = Executable(loaded.program).run(arrays, poison=1).outputs
    return [bits(first) == bits(second) for first, second in zip(outputs, again, strict=True)]


def left(mask: Any, result: Any, memory: Any) -> Any:
    """The output as it lies in memory that held something before: what is never written stays."""
    before = np.ascontiguousarray(memory).view(np.uint8).reshape(-1).view(bits(result).dtype).reshape(result.shape)
    return np.where(mask, bits(result), before)


def bits(array: Any) -> Any:
    plain = np.ascontiguousarray(array)
    return plain.view(f"u{plain.dtype.itemsize}").reshape(plain.shape)


def latencies_us(loaded: Loaded, count: int) -> list[float]:
    """What the model says, with a scatter between processes and between runs as a device has it."""
    from nki_anvil.sim.profile import estimate

    source = random.Random(os.getpid() ^ time.monotonic_ns())
    middle = estimate(loaded.program, "trn2").latency_us * (1 + source.gauss(0, 0.002))
    return [middle * (1 + source.gauss(0, 0.001)) for _ in range(count)]


def summary(loaded: Loaded) -> dict[str, float]:
    """The profiler's counters: seconds, fractions, and nothing that is zero."""
    from nki_anvil.sim.profile import estimate

    found = estimate(loaded.program, "trn2")
    said = {name: float(value) for name, value in {**found.metrics, **found.extra}.items() if name != "latency"}
    said["total_time"] = latencies_us(loaded, 1)[0] / 1e6
    return {name: value for name, value in said.items() if value}
