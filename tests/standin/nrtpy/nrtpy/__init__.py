"""``nrtpy``, standing in, in an environment without ``nki``."""

from __future__ import annotations

import standin_device as device
from nrtpy_interface import BenchmarkResult, NrtError, NrtpyModel, NrtpyTensor

__all__ = ["BenchmarkResult", "NrtError", "NrtpyModel", "NrtpyTensor"]
__version__ = "2.35.30"
__stand_in__ = device.STAND_IN

if device.switches().get("nrtpy_missing"):
    raise ImportError("nrtpy is not there")
