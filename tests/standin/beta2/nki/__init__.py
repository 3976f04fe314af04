"""``nki`` 0.1 and 0.2, standing in: a kernel runs only on a framework's tensors, inside of torch-neuronx."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import standin_device as device
from standin_compiler import Kernel as _Kernel
from standin_compiler import compiled, provide

__version__ = os.environ.get("STANDIN_NKI", "0.2.0")
__stand_in__ = device.STAND_IN
provide(sys.modules[__name__], __version__)


class Kernel(_Kernel):
    """Refuses NumPy arrays; on torch's it leaves its file where the runtime's inspection is told to."""

    def outside(self, *arguments: Any) -> Any:
        if not any(hasattr(one, "on_device") for one in arguments):
            raise TypeError("no framework found for these arguments: call the kernel with torch or jax tensors")
        import torch

        assert os.environ["NEURON_RT_INSPECT_ENABLE"] == "1"
        plain = [one.array if hasattr(one, "on_device") else one for one in arguments]
        loaded = compiled(self.function, self.cores, plain)
        path = Path(os.environ["NEURON_RT_INSPECT_OUTPUT_DIR"]) / f"i-0_pid_{os.getpid()}" / "neff_1_vnc_0.neff"
        path.parent.mkdir()
        path.write_bytes(loaded.data)
        outputs, _ = device.run(loaded, [one.array for one in arguments if hasattr(one, "on_device")])
        found = tuple(torch.Tensor(output) for output in outputs)
        return found[0] if len(found) == 1 else found


def jit(function: Any = None, **_options: Any) -> Any:
    return jit if function is None else Kernel(function)
