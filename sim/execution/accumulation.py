"""Where a matmul that leaves ``accumulate`` open finds the tensor engine's writes: it adds there, else it overwrites.

What other instructions have put into PSUM begins no sum (``nki.isa.nc_matmul``, accumulation mode).

In straight code that is decided once; only a matmul inside a dynamic loop that its PSUM tensor comes into from outside
needs flags at run time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.coverage import covering
from nki_anvil.sim.execution.bench import Step
from nki_anvil.sim.execution.memory import Memory
from nki_anvil.sim.instructions import ENGINES, NAMES
from nki_anvil.sim.liveness import chain
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import NONE

Flags = NDArray[np.bool_]

_MATMUL = NAMES.index("nc_matmul")
_TENSOR = ENGINES.index("tensor")


class Written:
    """What each open matmul finds: True (add), False (overwrite), or flags in the shape of its destination."""

    def __init__(self, memory: Memory) -> None:
        self._memory, self._program = memory, memory.program
        self._owner: list[int] = self._program.tables["accesses"]["tensor"].tolist()
        self._running: dict[int, Flags] = {}
        """Flags that change at run time, by tensor."""
        self._noted: dict[int, list[int]] = {}
        """The accesses by which an instruction writes to those."""
        self._found: dict[int, bool | Flags] = {}
        self._survey()

    def found(self, index: int) -> bool | Flags:
        """What the matmul ``index`` finds at its destination; False for any other instruction."""
        return self._found.get(index, False)

    def begin(self, tensor: int) -> list[Step]:
        """Steps for a tensor that becomes fresh."""
        return [partial(self._running[tensor].fill, False)] if tensor in self._running else []

    def after(self, index: int) -> list[Step]:
        """Steps that note what an instruction has written."""
        return [partial(self._view(access, self._running).fill, True) for access in self._noted.get(index, ())]

    def _survey(self) -> None:
        targets = self._targets()
        homes: list[int] = self._program.tables["tensors"]["region"].tolist()
        for index, access in targets.items():
            tensor = self._owner[access]
            if tensor not in self._running and chain(self._program, index)[0] not in (homes[tensor], NONE):
                self._running[tensor] = self._blank(tensor)
        straight = {self._owner[access] for access in targets.values()} - set(self._running)
        self._found = {index: self._view(access, self._running) for index, access in self._in_loops(targets)}
        self._walk(targets, straight)

    def _targets(self) -> dict[int, int]:
        """The destination of each open matmul."""
        rows = self._program.tables["instructions"]
        is_open = np.array([record.get("accumulate") is None for record in self._program.attributes], np.bool_)
        matmuls = np.flatnonzero(rows["opcode"] == _MATMUL)
        chosen = matmuls[is_open[rows["attributes"][matmuls]]]
        found = self._program.tables["operands"]["access"][rows["first_operand"][chosen]]
        return dict(zip(chosen.tolist(), found.tolist(), strict=True))

    def _in_loops(self, targets: dict[int, int]) -> Iterator[tuple[int, int]]:
        return ((index, access) for index, access in targets.items() if self._owner[access] in self._running)

    def _walk(self, targets: dict[int, int], straight: set[int]) -> None:
        """Follow what the tensor engine writes to the tensors of open matmuls, in program order."""
        every, engine = operands(self._program), self._program.tables["instructions"]["engine"]
        owner = self._program.tables["accesses"]["tensor"]
        chosen = every.writes & np.isin(owner[every.access], [*straight, *self._running])
        chosen &= engine[every.instruction] == _TENSOR
        whole: list[bool] = covering(self._program, self._memory.patterns).tolist()
        last: list[int] = self._memory.live.last.tolist()
        state: dict[int, bool | Flags] = {}
        writes: list[tuple[int, int]] = np.stack([every.instruction[chosen], every.access[chosen]], axis=1).tolist()
        for index, access in writes:
            tensor = self._owner[access]
            if tensor in self._running:
                self._noted.setdefault(index, []).append(access)
                continue
            before = state.get(tensor, False)
            if targets.get(index) == access:
                self._found[index] = self._look(access, before, state)
            if whole[access]:
                state[tensor] = True
            elif before is not True:
                self._mark(access, state)
            if last[tensor] <= index:
                state.pop(tensor, None)

    def _look(self, access: int, before: bool | Flags, state: dict[int, bool | Flags]) -> bool | Flags:
        if isinstance(before, bool):
            return before
        view = self._view(access, state)
        if not view.any():
            return False
        return True if view.all() else view.copy()

    def _mark(self, access: int, state: dict[int, bool | Flags]) -> None:
        tensor = self._owner[access]
        if isinstance(state.get(tensor, False), bool):
            state[tensor] = self._blank(tensor)
        self._view(access, state)[...] = True

    def _blank(self, tensor: int) -> Flags:
        return np.zeros(self._memory.block(tensor).size, np.bool_)

    def _view(self, access: int, flags: Mapping[int, bool | Flags]) -> Flags:
        """The flags under an access, in its shape; those of the whole tensor where it is seen in another width."""
        row, tensor = self._program.tables["accesses"], self._owner[access]
        whole = flags[tensor]
        assert not isinstance(whole, bool)
        dtype = dtypes.NAMES[int(row["dtype"][access])]
        if self._memory.formats.size(dtype) != self._memory.formats.size(self._memory.dtype(tensor)):
            return whole
        steps, counts = zip(*self._memory.pattern(access), strict=True)
        return np.ndarray(counts, np.bool_, whole, int(row["offset"][access]), steps)
