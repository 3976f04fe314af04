"""What a host offers: Python environments with an SDK and its dialect, a way to run NEFFs, tools, cores.

Looked up once and kept; an environment that changed, or a host that was started again, is looked at anew.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final, Optional, cast

from nki_anvil.backends.worker.device import leases, requests
from nki_anvil.backends.worker.device.failures import MachineFailure

TOOLS: Final = "/opt/aws/neuron/bin"
LIBRARIES: Final = "/opt/aws/neuron/lib"
ENVIRONMENTS: Final = (
    "/opt/aws_neuronx_venv*/bin/python",
    "/opt/*/bin/python",
    "~/*venv*/bin/python",
    "~/.*venv*/bin/python",
)
"""Where the vendor's images and their users keep virtual environments."""
_PROBE_S: Final = 120.0

_LOOK: Final = """
import importlib, importlib.metadata, importlib.util, json, sys
def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
def can(module, name):
    try:
        return hasattr(importlib.import_module(module), name)
    except Exception:
        return False
def version(*names):
    for name in names:
        try:
            return importlib.metadata.version(name)
        except Exception:
            pass
    return ""
dialect = ""
if has("nki") and can("nki.framework.kernel", "Kernel"):
    dialect = "current"
elif has("nki") and can("nki.compile", "GenericKernel"):
    dialect = "beta2"
elif has("neuronxcc") and can("neuronxcc.nki.compile", "GenericKernel"):
    dialect = "beta1"
stand_in = ""
for name in ("nki", "neuronxcc", "nrtpy"):
    if has(name):
        module = sys.modules.get(name) or importlib.import_module(name)
        stand_in = stand_in or str(getattr(module, "__stand_in__", ""))
        nki = str(getattr(module, "__version__", "")) if name == "nki" else ""
print(json.dumps({
    "python": sys.version.split()[0], "dialect": dialect, "stand_in": stand_in,
    "numpy": version("numpy"), "nki": version("nki") or str(getattr(sys.modules.get("nki"), "__version__", "")),
    "neuronx_cc": version("neuronx-cc") or str(getattr(sys.modules.get("neuronxcc"), "__version__", "")),
    "nrtpy": version("nrtpy") or str(getattr(sys.modules.get("nrtpy"), "__version__", "")),
    "api": "nrtpy" if can("nrtpy", "NrtpyModel")
        else "spike" if can("nki.runtime", "SpikeModel") or can("spike", "SpikeModel") else "",
    "torch_neuronx": has("torch_neuronx"), "pyarrow": has("pyarrow"),
}))
"""
"""Run by each environment's own Python: importing is the documented way to tell the dialects apart."""


def facts(root: Path, host: dict[str, Any], *, anew: bool = False) -> dict[str, Any]:
    """Everything that is to be known of this host, from the last look where nothing has changed since."""
    candidates = _candidates(host)
    key = hashlib.sha256(json.dumps([_stamp(path) for path in candidates] + [boot(), host]).encode()).hexdigest()
    stored = root / "probe.json"
    if not anew:
        try:
            known = json.loads(stored.read_bytes())
            if known["key"] == key:
                return {**known, **_now(root, host, known["cores"])}
        except (OSError, ValueError, KeyError):
            pass
    found = _look(host, candidates)
    if found["cores"] and any(
        one["dialect"] for one in found["environments"]
    ):  # what lacks something is looked at again
        requests.replace(stored, json.dumps({**found, "key": key}).encode())
    return {**found, **_now(root, host, found["cores"])}


def runner_command(root: Path, request: dict[str, Any], folder: Path) -> list[str]:
    """How a job is run here. Raises MachineFailure where something is missing for it."""
    if request["kind"] == "simulate":
        python = request["host"].get("python") or sys.executable
        module = "nki_anvil.backends.worker.device.simulating"
    else:
        found = facts(root, request["host"])
        python, module = chosen(found)["path"], "nki_anvil.backends.worker.device.runner"
        requests.replace(folder / "facts.json", json.dumps(found).encode())
    return [python, "-s", "-B", "-m", module, str(folder)]


def runner_environment() -> dict[str, str]:
    """The user's own, with our packages in front and nothing of an earlier profiling left."""
    packages = str(Path(__file__).parents[4])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "NKI_", "XLA_"))}
    kept["PATH"] = os.pathsep.join([kept.get("PATH", os.defpath), TOOLS])
    return {**kept, "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"}


def chosen(found: dict[str, Any]) -> dict[str, Any]:
    """The environment that compiles. Raises MachineFailure where there is none."""
    environments = [one for one in found["environments"] if one["dialect"]]
    if not environments:
        looked = ", ".join(one["path"] for one in found["environments"]) or "nowhere"
        raise MachineFailure("sdk_missing", f"no Python here has nki or neuronxcc (looked at {looked})")
    best = environments[0]
    if not best["numpy"]:
        raise MachineFailure("sdk_missing", f"{best['path']} has no NumPy")
    return best


def boot() -> str:
    """Changes when this host is started again."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def tool(host: dict[str, Any], name: str) -> Optional[str]:
    """The path of one of the vendor's executables."""
    folders = [host.get("tools") or "", TOOLS, os.environ.get("PATH", os.defpath)]
    return shutil.which(name, path=os.pathsep.join(folder for folder in folders if folder))


def _candidates(host: dict[str, Any]) -> list[str]:
    """Pythons to look at: those that are set, and only where none is set, those that are found."""
    named = [path for path in (host.get("python"), host.get("nrtpy_python")) if path]
    if not host.get("python"):
        named += [
            sys.executable,
            *(path for place in ENVIRONMENTS for path in sorted(glob.glob(str(Path(place).expanduser())))),
        ]
    return list(dict.fromkeys(str(Path(path).expanduser()) for path in named))


def _stamp(path: str) -> list[Any]:
    """Changes when packages are installed into an environment."""
    stamps: list[Any] = [path]
    for place in [path, *glob.glob(str(Path(path).parents[1] / "lib/python3*/site-packages"))]:
        try:
            stamps.append(Path(place).stat().st_mtime_ns)
        except OSError:
            stamps.append(None)
    return stamps


def _look(host: dict[str, Any], candidates: list[str]) -> dict[str, Any]:
    environments = [one for one in map(_environment, candidates) if one]
    listed, error = devices(host)
    lnc = _number(next((d.get("logical_neuroncore_config") for d in listed if d.get("logical_neuroncore_config")), 1))
    logical = [int(core) for d in listed for core in d.get("neuroncore_ids") or range(_number(d.get("nc_count")))]
    cores = [core * lnc + part for core in logical for part in range(lnc)]
    stand_in = next((one["stand_in"] for one in environments if one["stand_in"]), "")
    return {
        "host": socket.gethostname(),
        "architecture": platform.machine(),
        "system": platform.platform(terse=True),
        "boot": boot(),
        "environments": environments,
        "tools": {name: tool(host, name) or "" for name in ("neuron-ls", "neuron-explorer", "neuron-profile")},
        "tools_version": _version(tool(host, "neuron-explorer")) or _version(tool(host, "neuron-profile")),
        "instance": str(next((d.get("instance_type") for d in listed if d.get("instance_type")), "")),
        "cores": host.get("cores") or cores,  # physical ones, whatever the tools group them into
        "lnc": lnc,
        "devices_error": error,
        "stand_in": stand_in or str(next((d.get("stand_in") for d in listed if d.get("stand_in")), "")),
    }


def _now(root: Path, host: dict[str, Any], cores: list[int]) -> dict[str, Any]:
    """What changes from moment to moment."""
    folder = Path(host.get("leases") or leases.FOLDER)
    space = shutil.disk_usage(root)
    free = leases.free(folder, cores) if folder.exists() else cores
    return {"free_cores": free, "disk_free_bytes": space.free, "wall_s": time.time()}


def _environment(path: str) -> Optional[dict[str, Any]]:
    """What one Python has; None for one that cannot be run."""
    said = _said([path, "-s", "-B", "-c", _LOOK])
    if said is None:
        return None
    try:
        return {"path": path, **json.loads(said.strip().splitlines()[-1])}
    except (ValueError, IndexError):
        return None


def devices(host: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """What neuron-ls says: a list of devices until 2.33, an object that holds one from 2.34."""
    path = tool(host, "neuron-ls")
    if path is None:
        return [], "there is no neuron-ls"
    for flags in (["--json-output"], ["--output-format", "json"]):
        said = _said([path, *flags])
        try:
            found = json.loads(said or "")
        except ValueError:
            continue
        return devices_of(found), ""
    return [], "neuron-ls gives no JSON"


def devices_of(found: Any) -> list[dict[str, Any]]:
    """The devices in either form of neuron-ls's answer, with what the newer one says once for all."""
    if isinstance(found, list):
        return cast("list[dict[str, Any]]", found)
    answer = cast("dict[str, Any]", found)
    common = {name: value for name, value in answer.items() if not isinstance(value, (list, dict))}
    listed: list[dict[str, Any]] = answer.get("neuron_devices") or answer.get("devices") or []
    return [{**common, **device} for device in listed]


def _version(path: Optional[str]) -> str:
    said = _said([path, "--version"]) if path else None
    return (said or "").strip().splitlines()[0][:100] if said and said.strip() else ""


def _said(command: list[str]) -> Optional[str]:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0
