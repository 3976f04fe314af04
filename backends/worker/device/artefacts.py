"""Compiled kernels of a host, by what they were compiled from: what was verified is the file that is timed."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Optional, cast

from nki_anvil.backends.worker.device import compile_process, requests
from nki_anvil.backends.worker.device.failures import MachineFailure, compile_error, machine_failure, tail
from nki_anvil.backends.worker.device.programs import TOO_LATE, Programs

_HEADER_BYTES: Final = 1024
"""Of a NEFF, before its archive; it holds a random identifier."""
MODULE: Final = "nki_anvil.backends.worker.device.compile_process"

Compile = Callable[[Path, bytes], tuple[int, str, str]]


@dataclass(frozen=True)
class Artefact:
    """A compiled kernel, or why there is none."""

    neff: Optional[Path]
    digest: str
    """Of the compiled content, without what differs from one compilation to the next."""
    entry: Optional[str]
    left_out: tuple[str, ...]
    outcome: str
    error: Optional[dict[str, Any]]
    printed: str = ""
    reused: bool = False


class Artefacts:
    """The compiled kernels under ``root/neff``."""

    def __init__(self, root: Path, facts: dict[str, Any], environment: dict[str, Any]) -> None:
        self.root = root / "neff"
        self.environment = environment
        """The Python environment that compiles, as the probe found it."""
        self.toolchain = {name: environment.get(name) for name in ("dialect", "nki", "neuronx_cc")}
        self.facts = facts

    def of(
        self, job: dict[str, Any], kernel: bytes, shape_set: dict[str, Any], seconds: float, programs: Programs
    ) -> Artefact:
        """The compiled kernel at one shape set, compiled now where it was not before. Raises MachineFailure."""
        key = self._key(job, kernel, shape_set)
        folder = self.root / key
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            known = _known(folder)
            if known is not None:
                return known
            found, neff = self._compiled(job, kernel, shape_set, seconds, programs)
            if found.outcome == "ok":
                _keep(folder, found, neff)
                return Artefact(folder / "kernel.neff", found.digest, found.entry, found.left_out, "ok", None)
            return found

    def _key(self, job: dict[str, Any], kernel: bytes, shape_set: dict[str, Any]) -> str:
        shapes = [{name: spec[name] for name in ("name", "shape", "dtype", "value")} for spec in shape_set["inputs"]]
        parts = [job["entry"], job["lnc"], job["chip"], shapes, self.toolchain]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode() + kernel).hexdigest()

    def _compiled(
        self, job: dict[str, Any], kernel: bytes, shape_set: dict[str, Any], seconds: float, programs: Programs
    ) -> tuple[Artefact, bytes]:
        with tempfile.TemporaryDirectory(prefix="compile-", dir=self.root, ignore_cleanup_errors=True) as place:
            scratch, files = Path(place) / "work", Path(place) / "artefacts"
            scratch.mkdir()
            files.mkdir()
            request = self._request(job, kernel, shape_set, seconds)
            own = self._surroundings(programs.environment, scratch, files)
            command = [self.environment["path"], "-s", "-B", "-m", MODULE]
            compiler = Programs(programs.children, own, programs.descriptors)
            status, said, complaints = compiler.run(command, str(scratch), seconds, request)
            return _judged(scratch, files, status, said, complaints, seconds)

    def _request(self, job: dict[str, Any], kernel: bytes, shape_set: dict[str, Any], seconds: float) -> bytes:
        """All that the process learns: no purpose, no cases, no seeds."""
        inputs = [{name: spec[name] for name in ("name", "shape", "dtype", "value")} for spec in shape_set["inputs"]]
        asked = {name: job[name] for name in ("entry", "lnc", "limits")}
        text = kernel.decode(errors="replace")
        dialect = self.environment["dialect"]
        return json.dumps(
            {**asked, "inputs": inputs, "kernel": text, "dialect": dialect, "compile_s": seconds}
        ).encode()

    def _surroundings(self, environment: dict[str, str], scratch: Path, files: Path) -> dict[str, str]:
        """Where it may write, and where the SDK is told to leave what it compiles, in each generation's words."""
        places = {"HOME": str(scratch), "TMPDIR": str(scratch), "NKI_ARTIFACTS_DIR": str(files)}
        if self.environment["dialect"] == "beta2":
            places |= {
                "NEURON_RT_INSPECT_ENABLE": "1",
                "NEURON_RT_INSPECT_DEVICE_PROFILE": "1",
                "NEURON_RT_INSPECT_OUTPUT_DIR": str(files),
            }
        return {**environment, **places}


def normalised(neff: bytes) -> str:
    """SHA-256 over the members of a NEFF's archive, without its header's identifier and the members' dates."""
    try:
        with tarfile.open(fileobj=io.BytesIO(neff[_HEADER_BYTES:])) as archive:
            sha = hashlib.sha256()
            for member in sorted(archive.getmembers(), key=lambda one: one.name):
                stream = archive.extractfile(member) if member.isfile() else None
                sha.update(member.name.encode() + b"\0" + (stream.read() if stream else b""))
            return sha.hexdigest()
    except (tarfile.TarError, EOFError, OSError):
        return hashlib.sha256(neff).hexdigest()


def _judged(
    scratch: Path, files: Path, status: int, said: str, complaints: str, seconds: float
) -> tuple[Artefact, bytes]:
    """What counts is the file that was left; what the process says explains why there is none."""
    answer = _answer(scratch)
    entry, left_out = answer.get("entry"), tuple(map(str, answer.get("left_out") or ()))
    neffs = sorted([*files.rglob("*.neff"), *scratch.rglob("*.neff")], key=lambda path: path.name != "kernel.neff")
    if neffs:
        data = neffs[0].read_bytes()
        if data:
            return Artefact(None, normalised(data), entry, left_out, "ok", None, said), data
    if status == TOO_LATE:
        message = f"Compiling did not end within {seconds:g} s."
        error = {"code": "Timeout", "message": message, "line": None, "remedy": "Make the program smaller."}
        return Artefact(None, "", entry, left_out, "timeout", error, said), b""
    why = str(answer.get("error") or "") or complaints or said
    if "NRT_" in why and "NCC_" not in why:
        raise machine_failure(why)
    if not answer:
        raise MachineFailure("failed", f"the compiling process ended with status {status}: {tail(complaints or said)}")
    return Artefact(None, "", entry, left_out, "failed", compile_error(why), said), b""


def _answer(scratch: Path) -> dict[str, Any]:
    try:
        found = json.loads((scratch / compile_process.ANSWER).read_bytes()[: 1 << 20])
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _known(folder: Path) -> Optional[Artefact]:
    try:
        said = json.loads((folder / "artefact.json").read_bytes())
        data = (folder / "kernel.neff").read_bytes()
    except (OSError, ValueError):
        return None
    if hashlib.sha256(data).hexdigest() != said["sha256"]:
        return None
    os.utime(folder)
    return Artefact(
        folder / "kernel.neff", said["digest"], said["entry"], tuple(said["left_out"]), "ok", None, reused=True
    )


def _keep(folder: Path, found: Artefact, neff: bytes) -> None:
    requests.replace(folder / "kernel.neff", neff)
    said = {"digest": found.digest, "entry": found.entry, "left_out": found.left_out}
    said["sha256"] = hashlib.sha256(neff).hexdigest()
    requests.replace(folder / "artefact.json", json.dumps(said).encode())


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """One compilation of the same thing at a time; the second finds the first one's result."""
    with (folder / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
