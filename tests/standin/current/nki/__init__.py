"""``nki`` 0.3 and later, standing in: called with NumPy arrays, a kernel compiles and runs by itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import standin_device as device
from standin_compiler import Kernel as _Kernel
from standin_compiler import compiled, provide

__version__ = os.environ.get("STANDIN_NKI", "0.7.0")
__stand_in__ = device.STAND_IN
_ARTIFACTS = os.environ.get("NKI_ARTIFACTS_DIR")  # read when imported, as the real one does
provide(sys.modules[__name__], __version__)


class Kernel(_Kernel):
    """The file is kept also where running it fails."""

    def outside(self, *arguments: Any) -> Any:
        loaded = compiled(self.function, self.cores, arguments)
        if _ARTIFACTS:
            (Path(_ARTIFACTS) / "kernel.neff").write_bytes(loaded.data)
        outputs, _ = device.run(loaded, [one for one in arguments if isinstance(one, np.ndarray)])
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def jit(function: Any = None, **_options: Any) -> Any:
    return jit if function is None else Kernel(function)
