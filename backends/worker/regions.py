"""In which HBM a tensor lies, whoever calls a kernel decides: a text may ask whether one is on chip, and no more.

What stands behind ``x.buffer`` of a tensor in HBM can be handed on to what allocates, and compared with SBUF and PSUM.
Told apart from the other HBM, or from where another tensor lies, a kernel would be another one inside of a larger one.
"""

from __future__ import annotations

from typing import Any, Final

from nki_anvil.sim.memory import MemoryRegion

_PLACES: Final = frozenset({"creation", "movement", "regions"})
"""Modules of the emulation, in both dialects, whose functions take a region."""


class PlaceAsked(Exception):
    """A text asks in which HBM a tensor lies."""

    code = "AttributeUnavailable"
    remedy = "Ask `x.buffer == nl.sbuf` or `x.buffer == nl.psum`; of what lies in neither, the kernel does the same."

    def __init__(self) -> None:
        super().__init__("The kernel asks in which HBM a tensor lies, which whoever calls it decides.")


class Hbm:
    """Stands for a region of HBM, of which nobody is told which one it is."""

    __slots__ = ("_region",)

    def __init__(self, region: MemoryRegion) -> None:
        self._region = region

    __class__: Any = property(lambda _: MemoryRegion)
    """What ``isinstance`` asks: as the region itself answers wherever a text is not looked at."""

    def __eq__(self, other: object) -> bool:
        if other is None or (isinstance(other, MemoryRegion) and other.on_chip):
            return False
        raise PlaceAsked

    def __getattr__(self, name: str) -> Any:
        raise PlaceAsked

    def _refuse(self, *_: Any) -> Any:
        raise PlaceAsked

    __hash__ = __repr__ = __str__ = __format__ = _refuse


def veiled(found: Any, holder: Any) -> Any:
    """What a text is given for an attribute: as it is, but for the HBM that a tensor lies in."""
    if isinstance(found, MemoryRegion) and not found.on_chip and hasattr(holder, "shape"):
        return Hbm(found)
    return found


def plain(value: Any) -> Any:
    """The region itself, for the language."""
    return object.__getattribute__(value, "_region") if isinstance(value, Hbm) else value


def is_told_where(function: Any) -> bool:
    """Whether it is a function of the language that takes a region."""
    module = str(getattr(function, "__module__", ""))
    return module.startswith("nki_anvil.sim.") and module.rpartition(".")[2] in _PLACES
