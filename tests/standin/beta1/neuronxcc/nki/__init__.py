"""``neuronxcc.nki``, standing in: the dialect's own modules; ``baremetal`` compiles, runs and traces."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import standin_device as device
from standin_compiler import Kernel as _Kernel
from standin_compiler import compiled
from nki_anvil.sim.beta1.kernel import Beta1Kernel
from nki_anvil.sim.beta1.modules import emulated_beta1

for _name, _module in emulated_beta1().items():
    if _name.startswith("neuronxcc.nki."):
        sys.modules[_name] = _module
        if _name.count(".") == 2:
            globals()[_name.rpartition(".")[2]] = _module


class GenericKernel(_Kernel):
    """What ``jit`` makes of a function; the function itself is its ``func``."""

    @property
    def func(self) -> Any:
        return self.function


def jit(function: Any = None, **_options: Any) -> Any:
    return jit if function is None else GenericKernel(function)


def baremetal(
    kernel: Any,
    save_neff_name: str | None = None,
    save_trace_name: str | None = None,
    additional_compile_opt: str = "",
) -> Callable[..., Any]:
    assert "--disable-dge" in additional_compile_opt
    cores = int(additional_compile_opt.rpartition("--logical-nc-config=")[2])

    def call(*arguments: Any) -> Any:
        function = getattr(kernel, "func", kernel)
        loaded = compiled(function, cores, arguments, Beta1Kernel(function))
        if save_neff_name:
            Path(save_neff_name).write_bytes(loaded.data)
        outputs, _ = device.run(loaded, [one for one in arguments if isinstance(one, np.ndarray)])
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return call
