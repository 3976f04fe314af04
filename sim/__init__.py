"""NKI kernels without Trainium: trace them into programs, run and check those, and estimate what they cost.

The names below load what they need when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from nki_anvil.sim.modules import install
    from nki_anvil.sim.profile import estimate
    from nki_anvil.sim.program import Program
    from nki_anvil.sim.simulation import simulate
    from nki_anvil.sim.tracing import trace

__all__ = ["Program", "estimate", "install", "simulate", "trace"]

_HOME: Final = {
    "Program": "program",
    "estimate": "profile",
    "install": "modules",
    "simulate": "simulation",
    "trace": "tracing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value  # a submodule of the same name must not take its place
    return value
