"""What bodies of a loop without an order do to tensors from outside of it, as far as iterations may meet there."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.dependencies import adding_to, operands_of
from nki_anvil.sim.beta1.growth import Rows
from nki_anvil.sim.operands import WRITES
from nki_anvil.sim.program import NONE, SCHEMA

_OPCODE: Final = list(SCHEMA["instructions"]).index("opcode")


class Shared:
    """Of each instruction so far which such tensor it writes, and which of them any reads."""

    def __init__(self) -> None:
        self._written: list[NDArray[np.int64]] = []
        self._read: set[int] = set()

    def add(
        self,
        instructions: Rows,
        times: int,
        sites: Rows,
        first_site: int,
        first_tensor: int,
        attributes: list[dict[str, Any]],
    ) -> None:
        """Take one more body, which runs so many times. What only adds meets nobody: it is one instruction."""
        owner, slot, used = operands_of(instructions, sites, first_site)
        there = (used[:, 0] != NONE) & (used[:, 0] < first_tensor) & ~adding_to(instructions, attributes)[owner]
        writes = there & (slot < WRITES[instructions[owner, _OPCODE]])
        written = np.full(len(instructions), NONE, np.int64)
        written[owner[writes]] = used[writes, 0]
        self._written.append(np.tile(written, times))
        self._read.update(used[there & ~writes, 0].tolist())

    def writes(self, count: int) -> NDArray[np.bool_]:
        """Which of the loop's instructions write what some iteration reads; those of a body left open do not count."""
        written = np.concatenate([*self._written, np.full(count, NONE, np.int64)])[:count]
        return np.isin(written, list(self._read))
