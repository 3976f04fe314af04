"""Whether iterations of one ``nl.affine_range`` that were traced one by one, being unlike, stand for themselves.

Iterations that are alike are compared by their patterns (``dependencies``); these by the places that they touch.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.dependencies import adding_to, dependent, operands_of
from nki_anvil.sim.kinds import WIDTHS
from nki_anvil.sim.marks import reached
from nki_anvil.sim.operands import WRITES
from nki_anvil.sim.program import NONE, SCHEMA

Rows = NDArray[np.int64]
Way = Literal["written", "added", "read"]
Looks = dict[Way, list[list[int]]]

_SITE: Final = {name: column for column, name in enumerate(SCHEMA["accesses"])}
_LOOK: Final = [_SITE[name] for name in ("dtype", "offset", "first_pair", "pairs")]
_INSTRUCTION: Final = {name: column for column, name in enumerate(SCHEMA["instructions"])}
_AGAINST: Final[dict[Way, tuple[Way, ...]]] = {
    "written": ("written", "added", "read"),
    "added": ("written", "read"),
    "read": ("written", "added"),
}
"""What other bodies may not do to what one has written, added to or read; programs of a launch may write alike."""


class Bodies:
    """What the bodies of a loop so far touch of the tensors around it."""

    def __init__(self) -> None:
        self._tensors: dict[int, _Tensor] = {}

    def add(
        self, loop: Any, sites: Rows, instructions: Rows, first_site: int, first_tensor: int, recorder: Any
    ) -> None:
        """Take one more body, with all its iterations; refuse it where it touches what another one writes."""
        touched, lines = _touched(sites, instructions, first_site, first_tensor, recorder)
        for tensor, looks in touched.items():
            if self._tensors.setdefault(tensor, _Tensor()).meets(looks, loop.kind == "grid", recorder):
                raise dependent(loop, lines[tensor], recorder.name_of(tensor))


class _Tensor:
    """One of those tensors; it is marked from when a body writes it, and anew where formats become several."""

    def __init__(self) -> None:
        self._bodies: list[Looks] = []
        self._widths: set[int] = set()
        self._written = False
        self._marks: _Marks | None = None

    def meets(self, looks: Looks, may_write_alike: bool, recorder: Any) -> bool:
        """Take what one more body does; whether it does that to what another one does against it."""
        self._bodies.append(looks)
        self._widths.update(int(WIDTHS[look[0]]) for several in looks.values() for look in several)
        self._written = self._written or looks.keys() != {"read"}
        if not self._written:
            return False
        unit = 1 if len(self._widths) > 1 else min(self._widths)
        if self._marks is None or self._marks.unit != unit:
            self._marks = _Marks(unit)
            for body in self._bodies[:-1]:
                self._marks.add(body, recorder)
        met = self._marks.touched(looks, may_write_alike, recorder)
        self._marks.add(looks, recorder)
        return met


class _Marks:
    """Whether a body touched an element of a tensor in each way; each byte (``unit``), where formats are several."""

    def __init__(self, unit: int) -> None:
        self.unit = unit
        self.bodies: dict[Way, NDArray[np.bool_]] = {}

    def touched(self, looks: Looks, may_write_alike: bool, recorder: Any) -> bool:
        """Whether another body touches what these looks do, in a way that is against theirs."""
        return any(
            self._places(other, look, recorder).any()
            for way, several in looks.items()
            for other in _AGAINST[way]
            if other in self.bodies and not (may_write_alike and way == other)
            for look in several
        )

    def add(self, looks: Looks, recorder: Any) -> None:
        for way, several in looks.items():
            for look in several:
                self._places(way, look, recorder)[...] = True

    def _places(self, way: Way, look: list[int], recorder: Any) -> NDArray[np.bool_]:
        dtype, offset, first, count = look
        ratio, pattern = int(WIDTHS[dtype]) // self.unit, recorder.pattern_at(first, count)
        end = (offset + sum(max(step, 0) * (size - 1) for step, size in pattern) + 1) * ratio
        marks = self.bodies.get(way, np.zeros(0, np.bool_))
        if len(marks) < end:
            marks = self.bodies[way] = np.append(marks, np.zeros(end, np.bool_))
        return reached(marks, offset * ratio, pattern, ratio)


def _touched(
    sites: Rows, instructions: Rows, first_site: int, first_tensor: int, recorder: Any
) -> tuple[dict[int, Looks], dict[int, int]]:
    """By tensor from outside of the body, its different looks, and a line that has one."""
    owner, slot, used = operands_of(instructions, sites, first_site)
    tensor = used[:, _SITE["tensor"]]
    there = (tensor != NONE) & (tensor < first_tensor)
    for moving in ("scalar_access", "vector_access"):
        there &= used[:, _SITE[moving]] == NONE
    writes = slot < WRITES[instructions[owner, _INSTRUCTION["opcode"]]]
    sums = _sums(instructions, owner, slot, used, recorder)
    chosen: dict[Way, NDArray[np.bool_]] = {"written": writes & ~sums, "added": sums, "read": ~writes & ~sums}
    found: dict[int, Looks] = {}
    for way, rows in chosen.items():
        for number, *look in np.unique(used[there & rows][:, [0, *_LOOK]], axis=0).tolist():
            found.setdefault(number, {}).setdefault(way, []).append(look)
    touched, first = np.unique(tensor[there], return_index=True)
    lines = instructions[owner[there][first], _INSTRUCTION["line"]]
    return found, dict(zip(touched.tolist(), lines.tolist(), strict=True))


def _sums(instructions: Rows, owner: Rows, slot: Rows, used: Rows, recorder: Any) -> NDArray[np.bool_]:
    """Operands that are a sum which an instruction adds to."""
    adding = adding_to(instructions, recorder.attribute_records())[owner]
    if not adding.any():
        return adding
    target = used[np.flatnonzero(slot == 0)[np.cumsum(slot == 0) - 1]]
    return adding & (used[:, [0, *_LOOK]] == target[:, [0, *_LOOK]]).all(axis=1)
