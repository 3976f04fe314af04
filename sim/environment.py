"""The vendor's conventions for running a kernel on a CPU: environment variables that ``simulate`` follows.

Source: AWS Neuron documentation, NKI CPU Simulator. Nothing else in the simulator looks at the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.errors import TraceError

TARGET: Final = "NEURON_PLATFORM_TARGET_OVERRIDE"
PRECISE: Final = "NKI_PRECISE_FP"

_DEFAULT: Final = "trn2"
_TARGETS: Final = {"inf2": "trn1", "gen2": "trn1", "gen3": "trn2", "gen4": "trn3"}
"""Other names of a target."""


def target(environment: Mapping[str, str]) -> str:
    """The chip that the environment names, else Trainium2; raises TraceError for one that is not simulated."""
    wanted = environment.get(TARGET, "").strip().lower() or _DEFAULT
    name = _TARGETS.get(wanted, wanted)
    if name not in CHIPS:
        raise TraceError(
            "NKI-TARGET", f"{TARGET}={wanted} is not simulated.", remedy=f"Set one of {', '.join(sorted(CHIPS))}."
        )
    return name


def precise(environment: Mapping[str, str]) -> bool:
    """Whether bfloat16 and float8 are stored as they are; with ``NKI_PRECISE_FP=0`` they are stored as float32."""
    return environment.get(PRECISE, "1").strip().lower() not in ("0", "false")
