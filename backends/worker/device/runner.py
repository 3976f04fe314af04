"""Carries out one job on a host with Neuron devices: compile, lease a core, run or time or profile, ``run.json``.

A job may also be a person's command. The runner never imports kernel text nor the SDK. It outlives the connection that
asked for it, and ends, with everything it started, when it is cancelled or when nobody has attended it for too long.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, TypeVar

from nki_anvil.backends.worker import isolation, records
from nki_anvil.backends.worker.children import Children
from nki_anvil.backends.worker.device import commanding, leases, probe, requests
from nki_anvil.backends.worker.device.artefacts import Artefact, Artefacts
from nki_anvil.backends.worker.device.execution import Execution, OutOfBytes
from nki_anvil.backends.worker.device.failures import MachineFailure
from nki_anvil.backends.worker.device.profiler import KernelBroke, Profiler
from nki_anvil.backends.worker.device.programs import Programs

PROTOCOL = 1
WATCH_S = 0.1
T = TypeVar("T")


def main() -> None:
    """Run the job in the folder that is named; ``running`` is the inherited lock that says that this process lives."""
    folder, running = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(running, False)
    isolation.adopt_orphans()
    children = Children()
    request = json.loads((folder / requests.REQUEST).read_bytes())
    watch(folder, children, float(request["grace_s"]))
    DeviceRun(folder, request, children).run()


def watch(folder: Path, children: Children, grace_s: float) -> None:
    """End everything when the job is cancelled or has not been attended for ``grace_s``, by this host's own clock."""

    def wait() -> None:
        left = grace_s
        while True:
            before = time.monotonic()
            time.sleep(WATCH_S)
            left = grace_s if _attended(folder) else left - (time.monotonic() - before)
            if (folder / requests.CANCELLED).exists():
                break
            if left <= 0:
                (folder / requests.EXPIRED).touch()
                break
        children.end_all()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _attended(folder: Path) -> bool:
    try:
        with (folder / requests.ATTENDED).open("r+b") as attended:
            fcntl.flock(attended, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return not folder.exists()
    return False


class DeviceRun:
    """One job folder and what came of it so far."""

    def __init__(self, folder: Path, request: dict[str, Any], children: Children) -> None:
        self.folder, self.request, self.children = folder, request, children
        text, self.kernel = (folder / "job.json").read_bytes(), (folder / "kernel.py").read_bytes()
        self.digest = hashlib.sha256(text + self.kernel).hexdigest()
        self.job: dict[str, Any] = json.loads(text)
        self.facts: dict[str, Any] = json.loads((folder / "facts.json").read_bytes())
        self.root = folder.parents[1]
        self.limits: dict[str, float] = request["seconds"]
        self.traces: list[dict[str, Any]] = []
        self.cases: list[dict[str, Any]] = []
        self.profiles: list[dict[str, Any]] = []
        self.samples: Optional[dict[str, Any]] = None
        self.ended: Optional[dict[str, Any]] = None
        self.environment = _environment(self.facts)
        self.seconds: dict[str, float] = {}
        self.failure: Optional[MachineFailure] = None

    def run(self) -> None:
        """Do the work and write down what came of it."""
        try:
            self._carry_out()
        except MachineFailure as failure:
            self.failure = failure
        except leases.CoresBusy as error:
            self.failure = MachineFailure(error.code, str(error))
        self._write()

    def _carry_out(self) -> None:
        if self.job["purpose"] == "command":
            self._command(self.job["command"])
            return
        compiled = self._compiled()
        if all(artefact.outcome == "ok" for artefact in compiled.values()) and self.job["purpose"] != "trace":
            self._on_a_core(compiled)

    def _compiled(self) -> dict[str, Artefact]:
        """Every shape set's artefact, by name, on this host's processors."""
        environment = probe.chosen(self.facts)
        # a fresh compilation, apart from what is kept, shows whether it gives the same again
        artefacts = Artefacts(self.folder if self.request.get("fresh") else self.root, self.facts, environment)
        found: dict[str, Artefact] = {}
        self.say("compiling", stage="compile")
        for shape_set in self.job["shape_sets"]:
            artefact = self._measured("compile", lambda s=shape_set: self._artefact(artefacts, s))
            found[shape_set["name"]] = artefact
            self.traces.append(_trace(shape_set["name"], artefact))
        return found

    def _artefact(self, artefacts: Artefacts, shape_set: dict[str, Any]) -> Artefact:
        """Compile without a core, since many can at once; where this SDK cannot, with one."""
        without = Programs(self.children, self._surroundings(None))
        try:
            return artefacts.of(self.job, self.kernel, shape_set, self.limits["compile"], without)
        except MachineFailure as failure:
            if failure.code not in ("failed", "core_busy"):
                raise
        with self._lease(1) as (lease, programs):
            self.environment["compiled_on_core"] = ",".join(map(str, lease.cores))
            return artefacts.of(self.job, self.kernel, shape_set, self.limits["compile"], programs)

    def _on_a_core(self, compiled: dict[str, Artefact]) -> None:
        """For timing the whole pair of cores that share memory is taken, so that a neighbour does not slow it."""
        timing = self.job["purpose"] != "verify"
        with self._lease(2 if timing or self.job["lnc"] == 2 else 1) as (lease, programs):
            self._placed(lease, timing=timing)
            for shape_set in self.job["shape_sets"]:
                self._shape_set(shape_set, compiled[shape_set["name"]], programs)

    def _command(self, command: dict[str, Any]) -> None:
        """A person's own program, in their own environment with cores that nobody else uses meanwhile."""
        lnc = self.job["lnc"]
        with self._lease(commanding.room(command["cores"] * lnc, len(self.facts["cores"]))) as (lease, _):
            self._placed(lease, timing=True)
            cores = sorted({core // lnc for core in lease.cores})[: command["cores"]]
            surroundings = commanding.surroundings(probe.chosen(self.facts)["path"], cores, lnc, self.job["chip"])
            programs = Programs(self.children, surroundings, lease.descriptors)
            self.ended = self._measured(
                "execute", lambda: commanding.carry_out(self.folder, command, programs, self.say)
            )

    def _placed(self, lease: leases.Lease, *, timing: bool) -> None:
        """Say where it runs, and for what is timed beside whom."""
        self.environment["core"] = ",".join(map(str, lease.cores))
        self.say(f"on core {self.environment['core']}", stage="run")
        if timing:
            self.environment["other_load"] = _strangers(self.request["host"])

    @contextmanager
    def _lease(self, size: int) -> Generator[tuple[leases.Lease, Programs]]:
        cores = list(self.facts["cores"])
        if not cores:
            why = self.facts["devices_error"] or "neuron-ls lists no device"
            raise MachineFailure("no_cores", f"this host has no Neuron cores: {why}")
        folder = Path(self.request["host"].get("leases") or leases.FOLDER)
        groups = leases.groups_of(cores, min(size, len(cores)), self.request.get("prefer") or ())
        patience_s, keep_s = self.limits["lease"], self.request.get("keep_s") or 0.0
        with leases.leased(folder, groups, self.digest, patience_s, self.say, keep_s) as lease:
            yield lease, Programs(self.children, self._surroundings(lease), lease.descriptors)

    def _surroundings(self, lease: Optional[leases.Lease]) -> dict[str, str]:
        """The environment of whatever touches the SDK: allow-listed, with the lease's cores and nothing inherited."""
        kept = {
            name: os.environ[name] for name in ("PATH", "HOME", "USER", "LOGNAME", "PYTHONPATH") if name in os.environ
        }
        libraries = [probe.LIBRARIES, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        lnc = self.job["lnc"]
        cores = sorted({core // lnc for core in lease.cores}) if lease else []
        if lease and self.job["purpose"] != "verify" and lnc == 1:
            cores = cores[:1]
        return {
            **kept,
            **isolation.environment(0),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LD_LIBRARY_PATH": os.pathsep.join(libraries),
            "NEURON_RT_VISIBLE_CORES": ",".join(map(str, cores)),
            "NEURON_LOGICAL_NC_CONFIG": str(lnc),
            "NEURON_PLATFORM_TARGET_OVERRIDE": self.job["chip"],
            "NEURON_CC_FLAGS": "--auto-cast=none",
            "NEURON_FRAMEWORK_DEBUG": "1",
        }

    def _shape_set(self, shape_set: dict[str, Any], artefact: Artefact, programs: Programs) -> None:
        purpose = self.job["purpose"]
        cases = [case for case in self.job["cases"] if case["shapes"] == shape_set["name"]]
        execution = Execution(self.folder, self.job, self.facts, self.limits, programs, self.say)
        if purpose == "profile":
            self._measured("profile", lambda: self._profile(execution, shape_set, artefact))
        elif purpose == "benchmark":
            self._benchmark(execution, shape_set, artefact, cases[0])
        elif cases:
            with arrays_file(self.folder) as archive:
                results = self._measured("execute", lambda: execution.verify(shape_set, artefact, cases, archive))
            self.cases += results
            self._returned(shape_set["name"], execution)

    def _benchmark(
        self, execution: Execution, shape_set: dict[str, Any], artefact: Artefact, case: dict[str, Any]
    ) -> None:
        """Timed runs; what they compute goes back only where the server asks to judge it, outside of all rounds."""
        counts = (self.request["warmups"], self.request["iterations"])
        judged = self.job["round"] < 0
        with arrays_file(self.folder) as archive:
            timed = self._measured(
                "execute", lambda: execution.time(shape_set, artefact, case, *counts, archive if judged else None)
            )
        self.environment.update(timed.pop("environment"))
        error = timed.pop("error", None)
        if error or (judged and self.environment.get("timed_outputs") in ("equal", "differ")):
            digest = execution.digest
            self.cases.append({"key": case["key"], "inputs_digest": digest, "error": error})
        if not error:
            self.samples = {**timed, "artefact": artefact.digest}
            self._returned(shape_set["name"], execution)

    def _returned(self, shapes: str, execution: Execution) -> None:
        """What outputs came back: a server that could not trace the kernel has it from nowhere else."""
        trace = next(one for one in self.traces if one["shapes"] == shapes)
        trace["outputs"] = execution.outputs

    def _profile(self, execution: Execution, shape_set: dict[str, Any], artefact: Artefact) -> None:
        """Where time goes on inputs of the kernel's own distribution."""
        assert artefact.neff is not None
        case = {"key": "profile", "shapes": shape_set["name"], "seed": 0, "family": "own", "uploaded": False}
        self.say("profiling", stage="profile")
        with execution.inputs(shape_set, case) as (place, named, _):
            profiler = Profiler(self.facts["tools"], execution.programs.run)
            self.environment["profiler"] = profiler.name
            try:
                found = profiler.profile(place, str(artefact.neff), named, shape_set["name"], self.limits["profile"])
            except KernelBroke as broken:
                self.cases.append({"key": "profile", "inputs_digest": "", "error": broken.error})
                return
        self.profiles.append({**found, "artefact": artefact.digest})

    def _measured(self, stage: str, work: Callable[[], T]) -> T:
        started = time.monotonic()
        try:
            return work()
        except OutOfBytes as error:
            raise MachineFailure("too_large", str(error)) from None
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.monotonic() - started

    def say(self, text: str, stage: str = "run") -> None:
        """One line of progress, for whoever attends."""
        line = {"event": "progress", "stage": stage, "text": text}
        with (self.folder / requests.PROGRESS).open("ab") as stream:
            stream.write(json.dumps(line).encode() + b"\n")

    def _write(self) -> None:
        run = {
            "protocol": PROTOCOL,
            "job": self.digest,
            "backend": "device",
            "origin": "device",
            "toolchain": toolchain(self.facts),
            "environment": {name: str(value) for name, value in self.environment.items()},
            "traces": self.traces,
            "cases": self.cases,
            "profiles": self.profiles,
            "samples": self.samples,
            "ended": self.ended,
            "failure": f"{self.failure.code}: {self.failure}" if self.failure else None,
            "seconds": self.seconds,
        }
        requests.replace(self.folder / requests.RESULT, records.as_bytes(run))


def toolchain(facts: dict[str, Any]) -> str:
    """The SDK's name; one that is a stand-in says so in front."""
    environment = next((one for one in facts["environments"] if one["dialect"]), None)
    if environment is None:
        return "none"
    versions = [
        f"{label} {environment[name]}"
        for name, label in (("nki", "nki"), ("neuronx_cc", "neuronx-cc"))
        if environment[name]
    ]
    head = ["stand-in"] if facts["stand_in"] else []
    return " ".join([*head, ", ".join(versions) or environment["dialect"]])


def arrays_file(folder: Path) -> zipfile.ZipFile:
    """The archive of outputs, continued from shape set to shape set."""
    return zipfile.ZipFile(folder / "outputs.npz", "a", zipfile.ZIP_STORED, allowZip64=True)


def _environment(facts: dict[str, Any]) -> dict[str, str]:
    known: list[dict[str, Any]] = facts["environments"]
    compiler = next((one for one in known if one["dialect"]), dict[str, Any]())
    said = {name: compiler.get(name, "") for name in ("dialect", "nki", "neuronx_cc", "nrtpy", "numpy")}
    said |= {
        "host": facts["host"],
        "boot": facts["boot"],
        "instance": facts["instance"],
        "tools": facts["tools_version"],
    }
    if facts["stand_in"]:
        said["stand_in"] = facts["stand_in"]
    return {**said, "python": platform.python_version(), "platform": facts["system"]}


def _trace(shapes: str, artefact: Artefact) -> dict[str, Any]:
    return {
        "shapes": shapes,
        "outcome": artefact.outcome,
        "error": artefact.error,
        "entry": artefact.entry,
        "left_out": list(artefact.left_out),
        "artefact": artefact.digest,
        "printed": artefact.printed[-10_000:],
    }


def _strangers(host: dict[str, Any]) -> str:
    """Processes on the devices while a job of ours has not begun: they hold no lease, and slow what is timed."""
    devices, _ = probe.devices(host)
    found = sorted({str(process.get("pid")) for device in devices for process in device.get("neuron_processes") or ()})
    return f"processes {', '.join(found)}" if found else ""


if __name__ == "__main__":
    main()
