"""The tensors of a Beta 1 program while it grows: rows with shapes and names, and what a launch's programs share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.growth import Growth
from nki_anvil.sim.beta1.storage import Placed
from nki_anvil.sim.builder import Builder
from nki_anvil.sim.dtypes import DTYPES, DType
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.layout import Shape, row_major
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.program import MEMORIES, NONE, ROLES, SCHEMA
from nki_anvil.sim.tensor import NkiTensor

TENSOR: Final = tuple(SCHEMA["tensors"])
DTYPE: Final = {dtype: index for index, dtype in enumerate(DTYPES)}
_ADDRESS: Final = slice(TENSOR.index("address_partition"), TENSOR.index("address_byte") + 1)
_MEMORY: Final = {region: MEMORIES.index(region.value) for region in MemoryRegion}


class Tensors(Builder):
    """A builder's tensors."""

    def __init__(self, chip: str, version: str, source: str) -> None:
        super().__init__(chip, version, source)
        self.on_hbm: Callable[[NkiTensor], None] | None = None
        """Told of each tensor that the kernel allocates in HBM."""
        self.hbm: list[NkiTensor] | None = None
        """Tensors in HBM that the launch's programs share, in the order of allocation; None where there is one."""
        self.scopes: list[int] = [0]
        """Of the loop bodies that are open, the kernel's own first."""
        self._next_hbm = 0
        self._bases: list[int] = []
        self._names_of: dict[str, int] = {}
        self._shapes_of: dict[Shape, int] = {}
        self._tensors = Growth(len(TENSOR) + 2)

    def allocate(
        self,
        shape: Shape,
        dtype: DType,
        buffer: MemoryRegion,
        name: str = "",
        *,
        role: str = "internal",
        argument: int = NONE,
        constant: int = NONE,
        address: tuple[int, int] | None = None,
        blocks: int = 1,
        places: Sequence[tuple[int, int]] = (),
    ) -> NkiTensor:
        """A fresh tensor, or as many in a row as there are ``blocks``; ``places`` say where the kernel puts each."""
        if self.hbm is not None and not buffer.on_chip and role == "internal":
            return self._shared_by_programs(shape, dtype, buffer, name)
        partitions, elements = (shape[0], math.prod(shape[1:])) if buffer.on_chip else (1, math.prod(shape))
        place = address or (places[0] if places else (NONE, NONE))
        row = (_MEMORY[buffer], ROLES.index(role), DTYPE[dtype], partitions, elements, argument, constant, *place)
        full = (*row, NONE, self.core, self.line(), self._shape_number(shape), self._name_number(name))
        index, steps = self._tensors.count, row_major(shape)
        while self._bases and self._bases[-1] >= index:
            self._bases.pop()
        self._bases.append(index)
        if blocks == 1:
            self._tensors.add(full)
        else:
            rows = np.tile(np.array(full, np.int64), (blocks, 1))
            rows[:, _ADDRESS] = places or (NONE, NONE)
            self._tensors.put(rows)
        storage = Placed(index, self, buffer, dtype, partitions, elements, NONE, name, steps, blocks=blocks)
        storage.scope = self.scopes[-1] if buffer.on_chip else 0
        tensor = NkiTensor(storage, dtype, 0, shape, steps)
        if self.on_hbm is not None and not buffer.on_chip and role == "internal":
            self.on_hbm(tensor)
        return tensor

    def _shared_by_programs(self, shape: Shape, dtype: DType, buffer: MemoryRegion, name: str) -> NkiTensor:
        """The tensor that the first program of the launch allocated at this place."""
        assert self.hbm is not None
        if self._next_hbm < len(self.hbm):
            tensor = self.hbm[self._next_hbm]
            self._next_hbm += 1
            if tensor.shape == shape and tensor.dtype == dtype:
                return tensor
        raise _unlike()

    def share(self, tensors: Sequence[tuple[Shape, DType, MemoryRegion, str]]) -> None:
        """Allocate what the programs of a launch share."""
        self.hbm = None
        made = [self.allocate(*one) for one in tensors]
        self.hbm = made

    def restart(self) -> None:
        """Another program of the launch begins."""
        self._next_hbm = 0

    def end_program(self) -> None:
        """Raise TraceError where a program has left out what the first one allocated."""
        if self.hbm is not None and self._next_hbm < len(self.hbm):
            raise _unlike()

    def _shape_number(self, shape: Shape) -> int:
        number = self._shapes_of.setdefault(shape, len(self._shapes))
        if number == len(self._shapes):
            self._shapes.append(shape)
        return number

    def _name_number(self, name: str) -> int:
        number = self._names_of.setdefault(name, len(self._names))
        if number == len(self._names):
            self._names.append(name)
        return number

    def rename(self, tensor: int, name: str) -> None:
        """Names are given when a tensor is made; an argument's is changed before anything else is recorded."""
        rows = self._tensors.all()
        rows[tensor, len(TENSOR) + 1] = self._name_number(name)

    def _stored_within(self) -> object:
        """Equal constants of one loop body are stored once."""
        return self.scopes[-1]

    def name_of(self, tensor: int) -> str:
        """What messages call a tensor by its number."""
        row = self._tensors.row(tensor)
        name = self._names[row[len(TENSOR) + 1]]
        return f"{name!r}" if name else f"A tensor of shape {self._shapes[row[len(TENSOR)]]}"

    def declared_at(self, tensors: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first block of the declared tensor that each number belongs to."""
        bases = np.array(self._bases, np.int64)
        return bases[np.searchsorted(bases, tensors, side="right") - 1]

    def output(self, tensor: NkiTensor) -> None:
        """The next returned tensor; Beta 1 returns any tensor in HBM, as if it were shared.

        Not so of several programs: what is private is visible to each of them alone (``neuronxcc.nki.language``).
        """
        row = self._tensors.row(tensor.storage.index)
        if row[0] == _MEMORY[MemoryRegion.private_hbm]:
            if self.hbm is not None:
                raise _private()
            self._tensors.all()[tensor.storage.index, 0] = _MEMORY[MemoryRegion.shared_hbm]
        self._rows["outputs"].append((self.access(tensor),))


def _private() -> TraceError:
    return TraceError(
        "NKI-OUTPUT",
        "The programs of a launch return a tensor in private HBM, which each of them has to itself.",
        remedy="Allocate the output in nl.shared_hbm.",
    )


def _unlike() -> TraceError:
    return TraceError(
        "NKI-GRID",
        "The programs of a launch allocate different tensors in HBM.",
        remedy="Allocate them outside of branches on nl.program_id.",
    )
