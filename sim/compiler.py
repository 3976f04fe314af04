"""``nki.compiler``: what ``nki.jit`` is told about compiling one kernel. Nothing here changes what a kernel computes.

Names and meanings are those of the reference of NKI 0.7 (SDK 2.33); it states few defaults, and None stands for those
that it leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from nki_anvil.sim import running_modes, versions
from nki_anvil.sim.errors import TraceError


class AddressRotation(Enum):
    """Whether the compiler may move a buffer from one use to the next."""

    AUTO = "auto"
    ENABLE = "enable"
    DISABLE = "disable"


@dataclass(frozen=True)
class CompileConfig:
    """For the compiler behind the trace."""

    address_rotation: AddressRotation | None = None
    non_ssa_legalization: bool | None = None
    dead_code_elim: bool | None = None
    barrier_check: bool | None = None
    prefetch_auto: bool = False
    nki_alloc_fallback: bool = True


@dataclass(frozen=True)
class SpecializationConfig:
    """For the trace itself."""

    allow_nested_config_override: bool | None = None


_CONFIGS: Final[Mapping[str, type[Any]]] = {
    "compile_config": CompileConfig,
    "specialization_config": SpecializationConfig,
}


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse what ``nki.jit`` does not take in the installed version, and modes and flags that change what is run."""
    running_modes.check(options)
    version = versions.INSTALLED.get()
    if "platform_target" in options and not versions.before(version, "0.3"):
        raise TraceError(
            "NKI-REMOVED",
            "nki.jit does not take platform_target= since NKI 0.3.",
            remedy="Set NEURON_PLATFORM_TARGET_OVERRIDE=trn2 in the environment instead.",
        )
    for name in options.keys() & _CONFIGS.keys():
        _check_config(name, options[name], version)


def _check_config(name: str, value: Any, version: str) -> None:
    wanted = _CONFIGS[name]
    if versions.before(version, "0.7"):
        raise TraceError(
            "NKI-VERSION",
            f"nki.jit takes {name}= since NKI 0.7; this kernel is for {version}.",
            remedy="Leave it out, or set the version to 0.7.",
        )
    if value is not None and not isinstance(value, wanted):
        raise TraceError(
            "NKI-TYPE",
            f"nki.jit with {name}={value!r}.",
            remedy=f"Pass nki.compiler.{wanted.__name__}(...).",
        )


__all__ = ["AddressRotation", "CompileConfig", "SpecializationConfig"]
