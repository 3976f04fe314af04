"""Names that a text asks the language for by ``hasattr`` or ``getattr``, where NKI answers as the simulator does."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from nki_anvil.sim.absent import BETA1, NOT_SIMULATED
from nki_anvil.sim.beta1.modules import emulated_beta1
from nki_anvil.sim.modules import emulated
from nki_anvil.sim.versions import CAME, WENT

_NOTHING = object()


def is_answered(path: str) -> bool:
    """Whether the simulator has a name, or it is known which versions of NKI have it; else whoever asks can tell them
    apart."""
    module, _, name = path.rpartition(".")
    if name in NOT_SIMULATED.get(module, {}):
        return False
    if any(name in table.get(module, {}) for table in (CAME, WENT, BETA1)):
        return True
    top, *below = path.split(".")
    found: Any = _tree().get(top, _NOTHING)
    for part in below:
        found = getattr(found, part, _NOTHING)
    return found is not _NOTHING


@functools.cache
def _tree() -> dict[str, ModuleType]:
    return {**emulated(), **emulated_beta1()}
