"""One Run of two: what a trace with the embedded simulator says of the program, and what the device did with it."""

from __future__ import annotations

from statistics import median

from nki_anvil.backends.job import Job
from nki_anvil.backends.run import KernelError, Profile, Run, Trace

UNKNOWN = "NKI-NOT-SIMULATED"
"""Code of what NKI has and the embedded simulator lacks: a device may know it."""


def traced(job: Job) -> Job:
    """The part of a job that needs no device: tracing, rules and the floor."""
    return job.model_copy(update={"purpose": "trace", "cases": (), "uploads": {}, "round": 0, "arm": "only"})


def hopeless(local: Run) -> bool:
    """Whether the device need not be asked: the kernel does not trace, or breaks a rule of the chip."""
    return any(
        (trace.outcome != "ok" and not unknown(trace)) or any(finding.severity == "error" for finding in trace.findings)
        for trace in local.traces
    )


def unknown(local: Trace) -> str:
    """What the embedded simulator does not know of the kernel; empty where it knows all."""
    return local.error.message if local.error is not None and local.error.code == UNKNOWN else ""


def merged(job: Job, local: Run, there: Run, name: str) -> Run:
    """The device's evidence, with rules, digests and floors from the trace here."""
    traces = {trace.shapes: trace for trace in there.traces}
    floors = {profile.shapes: profile.floor_us for profile in local.profiles}
    return there.model_copy(
        update={
            "backend": name,
            "traces": tuple(_trace(trace, traces.get(trace.shapes)) for trace in local.traces),
            "profiles": _profiles(job, there, floors),
            "environment": {**there.environment, "rules": local.toolchain},
        }
    )


def of_the_trace_alone(job: Job, local: Run, name: str, toolchain: str) -> Run:
    """The evidence against a kernel that no device was asked about."""
    return local.model_copy(
        update={
            "job": job.digest(),
            "backend": name,
            "origin": "device",
            "toolchain": toolchain,
            "profiles": (),
            "samples": None,
        }
    )


def _trace(local: Trace, there: Trace | None) -> Trace:
    """The simulator's, unless the compiler refused what the simulator took."""
    if there is None:
        missing = KernelError(code="Missing", message="The device's compiler said nothing of this shape set.")
        return local.model_copy(update={"outcome": "malformed", "error": missing})
    if there.outcome == "ok" and unknown(local):
        return there.model_copy(update={"unknown": unknown(local)})
    if there.outcome == "ok":
        return local.model_copy(update={"artefact": there.artefact})
    return local.model_copy(update={"outcome": there.outcome, "error": there.error, "printed": there.printed})


def _profiles(job: Job, there: Run, floors: dict[str, float]) -> tuple[Profile, ...]:
    """The profiler's, with floors; a timed run claims its median."""
    if there.profiles:
        return tuple(p.model_copy(update={"floor_us": floors.get(p.shapes, 0.0)}) for p in there.profiles)
    if there.samples is None:
        return ()
    shapes = job.shape_sets[0].name
    us = median(there.samples.us)
    return (
        Profile(
            shapes=shapes,
            origin="device",
            latency_us=us,
            floor_us=floors.get(shapes, 0.0),
            artefact=there.samples.artefact,
        ),
    )
