"""The compiler that all generations share: a traced program in a NEFF, and ``nki``'s modules of one version."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
from types import ModuleType
from typing import Any

import numpy as np

import standin_device as device
from nki_anvil.sim import versions
from nki_anvil.sim.kernel import Kernel as Traced
from nki_anvil.sim.modules import emulated
from nki_anvil.sim.tracing import trace


def provide(package: ModuleType, version: str) -> None:
    """``language``, ``isa`` and the others under the package's own name."""
    short = ".".join(version.split(".")[:2])
    versions.INSTALLED.set(versions.chosen(short))
    for name, module in emulated(short).items():
        if name != "nki":
            sys.modules[package.__name__ + name.removeprefix("nki")] = module
            if name.count(".") == 1:
                setattr(package, name.partition(".")[2], module)
    package.isa.exponential = functools.partial(exponential, package)


def exponential(package: ModuleType, dst: Any, src: Any) -> None:
    """An instruction that the embedded simulator lacks: the device's SDK may know more than we do."""
    package.isa.activation(dst=dst, op=package.language.exp, data=src)


class Kernel:
    """A jitted function. A call inside of a trace is a helper's; one outside is the generation's own affair."""

    def __init__(self, function: Any, cores: int = 1) -> None:
        self.function, self.cores = function, cores
        functools.update_wrapper(self, function)

    def __getitem__(self, lnc: int) -> Any:
        return type(self)(self.function, lnc)

    def __call__(self, *arguments: Any) -> Any:
        from nki_anvil.sim.builder import LIVE

        return self.outside(*arguments) if LIVE.get(None) is None else self.function(*arguments)

    def outside(self, *arguments: Any) -> Any:
        raise NotImplementedError


def compiled(function: Any, cores: int, arguments: Any, kernel: Any = None) -> device.Loaded:
    """Compile, or fail as the switches say; ``kernel`` is the function as its dialect is traced."""
    switches = device.switches()
    while switches.get("compile_hang"):
        time.sleep(1)
    time.sleep(float(switches.get("compile_seconds", 0)))
    if switches.get("needs_core"):
        device.Cores.occupy()
    if switches.get("compile_error"):
        raise RuntimeError(f"[{switches['compile_error']}] the compiler refuses this kernel at kernel.py:7")
    program = trace(kernel or Traced(function, cores), *arguments, chip=os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"])
    names = inspect.signature(function).parameters
    inputs = [name for name, value in zip(names, arguments) if isinstance(value, np.ndarray)]
    return device.Loaded(program, inputs, device.neff(program, inputs))
