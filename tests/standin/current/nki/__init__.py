"""``nki`` 0.3 and later, standing in: called with NumPy arrays, a kernel compiles and runs by itself."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import standin_device as device
from nki_anvil.sim import versions
from nki_anvil.sim.kernel import Kernel as Traced
from nki_anvil.sim.modules import emulated
from nki_anvil.sim.tracing import trace

__version__ = os.environ.get("STANDIN_NKI", "0.7.0")
__stand_in__ = device.STAND_IN
_ARTIFACTS = os.environ.get("NKI_ARTIFACTS_DIR")  # read when imported, as the real one does
_VERSION = ".".join(__version__.split(".")[:2])

versions.INSTALLED.set(versions.chosen(_VERSION))
for _name, _module in emulated(_VERSION).items():
    if _name != "nki":
        sys.modules[_name] = _module
        if _name.count(".") == 1:
            globals()[_name.partition(".")[2]] = _module


class Kernel:
    """A jitted function; outside of a trace a call compiles it, keeps the file, and runs it."""

    def __init__(self, function: Any, cores: int = 1) -> None:
        self.function, self.cores = function, cores
        functools.update_wrapper(self, function)

    def __getitem__(self, lnc: int) -> Kernel:
        return Kernel(self.function, lnc)

    def __call__(self, *arguments: Any) -> Any:
        from nki_anvil.sim.builder import LIVE

        if LIVE.get(None) is not None:
            return self.function(*arguments)
        loaded = compiled(self.function, self.cores, arguments)
        outputs, _ = device.run(loaded, [a for a in arguments if isinstance(a, np.ndarray)])
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def compiled(function: Any, cores: int, arguments: Any, where: str | None = None) -> device.Loaded:
    """Compile with this generation's compiler, and keep the NEFF where it is told to."""
    switches = device.switches()
    while switches.get("compile_hang"):
        time.sleep(1)
    time.sleep(float(switches.get("compile_seconds", 0)))
    if switches.get("needs_core"):
        device.Cores.occupy()
    if switches.get("compile_error"):
        raise RuntimeError(f"[{switches['compile_error']}] the compiler refuses this kernel at kernel.py:7")
    program = trace(Traced(function, cores), *arguments, chip=os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"])
    names = [
        name for name, value in zip(inspect.signature(function).parameters, arguments) if isinstance(value, np.ndarray)
    ]
    folder = where or _ARTIFACTS
    path = Path(folder or ".") / "kernel.neff"
    data = device.neff(program, names)
    if folder:
        path.write_bytes(data)
    return device.Loaded(program, names)


def jit(function: Any = None, **_options: Any) -> Any:
    return jit if function is None else Kernel(function)


def __getattr__(name: str) -> Any:
    if name in ("framework", "runtime"):
        return importlib.import_module(f"nki.{name}")
    raise AttributeError(name)
