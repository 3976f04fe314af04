"""Running and timing a compiled kernel on inputs that are drawn here: through the runtime's binding where a Python has
one, else through the profiler's own runs."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Optional

import numpy as np

from nki_anvil.backends.worker import arrays, inputs, isolation
from nki_anvil.backends.worker.children import Process
from nki_anvil.backends.worker.device.artefacts import Artefact
from nki_anvil.backends.worker.device.failures import MachineFailure, machine_failure, run_error
from nki_anvil.backends.worker.device.profiler import KernelBroke, Profiler
from nki_anvil.backends.worker.device.programs import Programs

SCRIPT: Final = Path(__file__).with_name("neff_process.py")
_LAUNCH: Final = Path(__file__).with_name("launch.py")
_LINE_BYTES: Final = 1 << 20
_CAPTURES: Final = 5
"""Timed runs at most, where every one is a profile of its own, with a file to write and to read."""

Named = list[tuple[str, str]]


class OutOfBytes(Exception):
    """The outputs of all cases together are larger than the job allows."""


class Stopped(Exception):
    """The process that runs the kernel ended, or was ended, before it answered."""

    def __init__(self, too_late: bool, said: str) -> None:
        super().__init__(said)
        self.too_late, self.said = too_late, said


class Execution:
    """One shape set on one core."""

    def __init__(
        self,
        folder: Path,
        job: dict[str, Any],
        facts: dict[str, Any],
        limits: dict[str, float],
        programs: Programs,
        say: Callable[..., None],
    ) -> None:
        self.folder, self.job, self.facts, self.limits = folder, job, facts, limits
        self.programs, self.say = programs, say
        self.bytes_left = int(job["limits"]["output_bytes"])
        self.digest = ""
        """Of the inputs that were drawn last."""
        self.outputs: list[dict[str, Any]] = []
        """Shapes and dtypes of the last case's outputs; unsigned where NumPy has no name for them."""

    def verify(
        self, shape_set: dict[str, Any], artefact: Artefact, cases: Sequence[dict[str, Any]], archive: zipfile.ZipFile
    ) -> list[dict[str, Any]]:
        """A CaseResult for every case, with its outputs in the archive."""
        if self._binding() is None:
            return [self._captured(shape_set, artefact, case, archive) for case in cases]
        results: list[dict[str, Any]] = []
        waiting = list(cases)
        while waiting:  # a kernel that hangs takes its process along; the next case gets a new one
            results += self._served(shape_set, artefact, waiting, archive)
            waiting = cases[len(results) :]
        return results

    def time(
        self,
        shape_set: dict[str, Any],
        artefact: Artefact,
        case: dict[str, Any],
        warmups: int,
        iterations: int,
        archive: Optional[zipfile.ZipFile],
    ) -> dict[str, Any]:
        """Samples, and under ``environment`` what is to be known of them; ``error`` where the kernel does not run.

        What the timed runs computed goes into the archive, if there is one.
        """
        if self._binding() is None:
            return self._timed_by_captures(shape_set, artefact, case, min(iterations, _CAPTURES))
        with self.inputs(shape_set, case) as (place, _, specs), self._process(artefact) as (process, timer):
            try:
                asked = {"inputs": specs, "warmups": warmups, "iterations": iterations, "folder": str(place)}
                said = self._asked(process, asked, self.limits["run"])
            except Stopped as stopped:
                return {"environment": {}, "error": _of(stopped, self.limits["run"])}
            if archive is not None:
                for position in range(said.get("outputs", 0)):
                    self._keep(archive, f"{case['key']}/{position}", place / f"out.{position}.npy")
        if "us" not in said:
            return {"environment": {}, "error": _of(Stopped(False, str(said.get("failed") or said)), 0.0)}
        known = {"timer_mode": said["mode"], "timed_outputs": said["timed_outputs"]}
        return {"us": said["us"], "timer": self._named(timer), "warmups": warmups, "environment": known}

    @contextmanager
    def inputs(
        self, shape_set: dict[str, Any], case: dict[str, Any]
    ) -> Generator[tuple[Path, Named, list[dict[str, Any]]]]:
        """A folder with the case's arrays as files, their names and files, and the same with dtypes."""
        place = self.folder / "inputs"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        drawn = self._drawn(shape_set, case)
        self.digest = inputs.digest(drawn)
        named: Named = []
        specs: list[dict[str, Any]] = []
        for position, (name, array) in enumerate(drawn.items()):
            path = place / f"in.{position}.npy"
            plain = np.ascontiguousarray(array)
            known = plain.dtype.kind != "V" and plain.dtype.isbuiltin
            np.save(path, plain if known else plain.view(f"u{plain.dtype.itemsize}"), allow_pickle=False)
            named.append((name, str(path)))
            specs.append({"name": name, "path": str(path), "dtype": array.dtype.name})
        try:
            yield place, named, specs
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _drawn(self, shape_set: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
        if not case.get("uploaded"):
            return inputs.draw(shape_set, case)
        from nki_anvil.sim.dtypes import numpy_dtype

        wanted = {spec["name"]: numpy_dtype(spec["dtype"]) for spec in shape_set["inputs"] if spec["shape"] is not None}
        with arrays.open_to_read(self.folder / "inputs.npz", sys.maxsize) as archive:
            return {name: arrays.read(archive, f"{case['key']}/{name}", dtype) for name, dtype in wanted.items()}

    # through the runtime's binding

    def _binding(self) -> Optional[str]:
        """The Python that can load NEFFs, an environment made for it first."""
        able = [one for one in self.facts["environments"] if one["api"]]
        return next((one["path"] for one in sorted(able, key=lambda one: one["api"] != "nrtpy")), None)

    def _served(
        self, shape_set: dict[str, Any], artefact: Artefact, cases: Sequence[dict[str, Any]], archive: zipfile.ZipFile
    ) -> list[dict[str, Any]]:
        """Cases until one takes the process along, that one included."""
        results: list[dict[str, Any]] = []
        with self._process(artefact) as (process, _):
            for case in cases:
                self.say(f"case {case['key']}")
                with self.inputs(shape_set, case) as (place, _, specs):
                    asked = {"key": case["key"], "inputs": specs, "poison": case["poison"], "folder": str(place)}
                    result: dict[str, Any] = {"key": case["key"], "inputs_digest": self.digest}
                    try:
                        said = self._asked(process, asked, self.limits["run"])
                    except Stopped as stopped:
                        return [*results, {**result, "error": _of(stopped, self.limits["run"])}]
                    if "error" in said:
                        results.append({**result, "error": _of(Stopped(False, said["error"]), 0.0)})
                        continue
                    for position in range(said["outputs"]):
                        self._keep(archive, f"{case['key']}/{position}", place / f"out.{position}.npy")
                    results.append({**result, "mutated": said["mutated"]})
        return results

    @contextmanager
    def _process(self, artefact: Artefact) -> Generator[tuple[Process, str]]:
        """The process with the loaded kernel, and what times it."""
        command = [sys.executable, "-s", "-B", str(_LAUNCH), str(self._binding()), "-s", "-B", str(SCRIPT)]
        self.complaints = self.folder / "runtime.log"
        with self.complaints.open("wb") as log:
            process = self.programs.children.start(
                command,
                str(self.folder),
                self.programs.environment,
                pass_fds=self.programs.descriptors,
                complaints=log.fileno(),
            )
        try:
            try:
                said = self._asked(process, {"neff": str(artefact.neff)}, self.limits["run"])
            except Stopped as stopped:
                raise machine_failure(stopped.said or "loading took too long") from None
            if "failed" in said:
                raise machine_failure(said["failed"])
            yield process, said["timer"]
        finally:
            self.programs.children.end(process)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def _asked(self, process: Process, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """One question and its answer; raises Stopped."""
        assert process.stdin is not None
        assert process.stdout is not None
        killer = threading.Timer(seconds, isolation.end_group, [process.pid])
        killer.start()
        started = time.monotonic()
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline(_LINE_BYTES)
        except BrokenPipeError:
            line = b""
        finally:
            killer.cancel()
        if not line:
            said = self.complaints.read_text(errors="replace")
            raise Stopped(time.monotonic() - started >= seconds, said)
        return dict(json.loads(line))

    def _keep(self, archive: zipfile.ZipFile, key: str, path: Path) -> None:
        array = np.load(path, allow_pickle=False)
        self.bytes_left -= array.nbytes
        if self.bytes_left < 0:
            raise OutOfBytes(f"the outputs have more than {self.job['limits']['output_bytes']} bytes in all")
        arrays.write(archive, key, array)
        position = int(key.rpartition("/")[2])
        name = "bool_" if array.dtype.name == "bool" else array.dtype.name
        self.outputs = [*self.outputs[:position], {"shape": list(array.shape), "dtype": name}]

    def _named(self, timer: str) -> str:
        """A stand-in's timer never goes by the name of the real one alone."""
        return f"{timer} (stand-in)" if self.facts["stand_in"] else timer

    # through the profiler

    def _profiler(self) -> Profiler:
        try:
            return Profiler(self.facts["tools"], self.programs.run)
        except MachineFailure as failure:
            message = f"nothing here can run a compiled kernel: no Python has nrtpy or spike, and {failure}"
            raise MachineFailure("unsupported", message) from None

    def _captured(
        self, shape_set: dict[str, Any], artefact: Artefact, case: dict[str, Any], archive: zipfile.ZipFile
    ) -> dict[str, Any]:
        """One profiled run whose outputs the profiler saves."""
        profiler = self._profiler()
        self.say(f"case {case['key']}")
        with self.inputs(shape_set, case) as (place, named, _):
            result: dict[str, Any] = {"key": case["key"], "inputs_digest": self.digest}
            try:
                profiler.capture(place, str(artefact.neff), named, self.limits["profile"], save_outputs=True)
            except KernelBroke as broken:
                return {**result, "error": broken.error}
            saved = sorted(set(place.glob("*.npy")) - {Path(path) for _, path in named}, key=_rank)
            if not saved:
                message = f"{profiler.name} saves no outputs here, and no Python has nrtpy or spike"
                raise MachineFailure("unsupported", message)
            for position, path in enumerate(saved):
                self._keep(archive, f"{case['key']}/{position}", path)
        return result

    def _timed_by_captures(
        self, shape_set: dict[str, Any], artefact: Artefact, case: dict[str, Any], count: int
    ) -> dict[str, Any]:
        profiler, us = self._profiler(), list[float]()
        with self.inputs(shape_set, case) as (place, named, _):
            for _ in range(count):
                try:
                    found = profiler.profile(
                        place, str(artefact.neff), named, shape_set["name"], self.limits["profile"]
                    )
                except KernelBroke as broken:
                    return {"environment": {}, "error": broken.error}
                us.append(found["latency_us"])
        known = {"timer_mode": "total_time of single profiled runs", "timed_outputs": "unreadable"}
        return {"us": us, "timer": self._named(profiler.name), "warmups": 1, "environment": known}


def _of(stopped: Stopped, seconds: float) -> dict[str, Any]:
    """A KernelError where the kernel is to blame; raises MachineFailure where it is not."""
    if stopped.too_late:
        message = f"The device did not come to an end within {seconds:g} s."
        return {
            "code": "Timeout",
            "message": message,
            "line": None,
            "remedy": "Check the end of loops that depend on data.",
        }
    error = run_error(stopped.said)
    if error is None:
        raise machine_failure(stopped.said or "the process that runs the kernel ended without a word")
    return error


def _rank(path: Path) -> tuple[int, str]:
    digits = "".join(character for character in path.stem if character.isdigit())
    return int(digits) if digits else -1, path.name
