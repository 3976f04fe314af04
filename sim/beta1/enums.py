"""The enumerations of ``nki.isa`` in Beta 1: members without numbers, for its pages (SDK 2.26) name none.

So nobody is told one: a text that asked could tell the simulator from NKI, whose numbers are others.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa import enums


class _Member(Enum):
    """One that stands for what the machine's functions take."""

    @property
    def value(self) -> Any:
        raise self._asked("has a value")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (str, int, float)):
            raise self._asked(f"is compared with {other!r}")
        return self is other

    def __hash__(self) -> int:
        raise self._asked("is looked up in a table or a set")

    def __bool__(self) -> bool:
        raise self._asked("is true or false")

    def _asked(self, how: str) -> TraceError:
        return TraceError(
            "NKI-TYPE", f"{self} {how}, which no page of Beta 1 gives.", remedy="Compare with the member itself."
        )


class _Generation(_Member):
    """One of those that compare in order."""

    def __lt__(self, other: _Generation) -> bool:
        return self._value_ < other._value_

    def __le__(self, other: _Generation) -> bool:
        return self._value_ <= other._value_

    def __gt__(self, other: _Generation) -> bool:
        return self._value_ > other._value_

    def __ge__(self, other: _Generation) -> bool:
        return self._value_ >= other._value_


def _alike(kind: type[Enum], base: Any = _Member) -> Any:
    return base(kind.__name__, [(one.name, one) for one in kind], module=__name__)


engine: Final = _alike(enums.engine)
reduce_cmd: Final = _alike(enums.reduce_cmd)
dge_mode: Final = _alike(enums.dge_mode)
oob_mode: Final = _alike(enums.oob_mode)
nc_version: Final = _alike(enums.nc_version, _Generation)
MEMBERS: Final = {
    **{kind.__name__: kind for kind in (engine, reduce_cmd, dge_mode, oob_mode, nc_version)},
    **{f"{name}_engine": engine[name] for name in ("tensor", "vector", "scalar", "gpsimd", "unknown")},
    "dma_engine": engine.dma,
}
"""By the name that ``nki.isa`` has it by."""


def meant(value: Any) -> Any:
    """What the machine's functions take for a member, and any other value itself."""
    return value._value_ if isinstance(value, _Member) else value
