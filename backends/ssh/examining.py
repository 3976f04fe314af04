"""A host looked at step by step: what is there, what is missing, and how to get it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

from nki_anvil.backends.errors import BackendError
from nki_anvil.backends.ssh.backend import refuse
from nki_anvil.backends.ssh.session import Session

SPACE_BYTES: Final = 5 << 30
"""A compilation of a large kernel and its profile take some GiB."""
SKEW_S: Final = 60.0
"""Harmless, since no clocks are compared, but a sign that the host is not cared for."""


@dataclass(frozen=True)
class Step:
    """One thing that was looked at. ``passed`` is None where it could not be."""

    name: str
    passed: bool | None
    found: str
    remedy: str = ""


async def examine(session: Session) -> tuple[list[Step], dict[str, Any]]:
    """Connection, Python, SDK, a way to run, profiler, cores, disk, clock: all of them, whatever fails."""
    try:
        facts = await session.facts(anew=True)
        now_s = time.time()
    except BackendError as error:
        code = error.code
        reached = code in ("host.python", "backend.disk_full", "backend.failed")
        steps = [Step("connection", True, session.host.name)] if reached else []
        return [*steps, Step("Python" if reached else "connection", False, error.message, error.remedy)], {}
    return steps_of(session, facts, now_s), facts


def steps_of(session: Session, facts: dict[str, Any], now_s: float) -> list[Step]:
    """What the facts mean. ``now_s`` is this machine's clock when the host had told its own."""
    host, name = session.host, session.host.name
    environments: list[dict[str, Any]] = facts["environments"]
    compiler = next((one for one in environments if one["dialect"]), None)
    binding = next((one for one in sorted(environments, key=lambda one: one["api"] != "nrtpy") if one["api"]), None)
    profiler = facts["tools"].get("neuron-explorer") or facts["tools"].get("neuron-profile")
    skew, free = facts["wall_s"] - now_s, int(facts["disk_free_bytes"])
    steps = [Step("connection", True, f"{facts['host']}, {facts['system']}")]
    try:
        refuse(host, facts)
        steps.append(Step("SDK", True, _sdk(compiler)))
    except BackendError as error:
        steps.append(Step("SDK", False, error.message, error.remedy))
    steps += [
        _there("runs kernels", binding, f"{binding['api']} in {binding['path']}" if binding else "no nrtpy, no spike",
               f"Install nrtpy into an environment of its own and set nrtpy_python in [remote.{name}]; without it "
               "kernels run under the profiler, which is slower and less exact."),
        _there("profiler", profiler, f"{profiler} {facts['tools_version']}" if profiler else "no neuron-explorer",
               "Install aws-neuronx-tools there."),
        _there("cores", facts["cores"], f"{len(facts['cores'])} on {facts['instance'] or 'this host'}, "
               f"{len(facts['free_cores'])} free" if facts["cores"] else facts["devices_error"] or "none",
               "Install aws-neuronx-dkms and aws-neuronx-tools, and use an instance with Trainium."),
        Step("disk", free > SPACE_BYTES, f"{free / 2**30:.1f} GiB free", "" if free > SPACE_BYTES else "Free some."),
        Step("clock", True if abs(skew) < SKEW_S else None, f"{skew:+.0f} s from this machine's",
             "" if abs(skew) < SKEW_S else "No harm to results; `timedatectl set-ntp true` there sets it right."),
    ]  # fmt: skip
    return steps


def toml(session: Session, facts: dict[str, Any]) -> str:
    """The table that makes what was found the settings of the host."""
    environments: list[dict[str, Any]] = facts["environments"]
    compiler = next((one["path"] for one in environments if one["dialect"]), None)
    binding = next((one["path"] for one in environments if one["api"] == "nrtpy"), None)
    named = {"python": compiler, "nrtpy_python": binding}
    rows = [f'{name} = "{path}"' for name, path in named.items() if path]
    return "\n".join([f'[remote."{session.host.name}"]', *rows])


def _there(name: str, thing: Any, found: str, remedy: str) -> Step:
    return Step(name, bool(thing), found, "" if thing else remedy)


def _sdk(compiler: dict[str, Any] | None) -> str:
    if compiler is None:
        return ""
    versions = ", ".join(f"{label} {compiler[name]}" for name, label in _VERSIONS.items() if compiler[name])
    return f"{versions} ({compiler['dialect']}) in {compiler['path']}"


_VERSIONS: Final = {"nki": "nki", "neuronx_cc": "neuronx-cc", "numpy": "NumPy"}
