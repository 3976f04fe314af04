"""Where tensors live as a kernel names it, and one block of it as the frontends hold it while they trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.dtypes import DType, size_of
from nki_anvil.sim.layout import Shape


class MemoryRegion(Enum):
    """Memory regions of a NeuronCore."""

    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"

    @property
    def on_chip(self) -> bool:
        """Whether the first dimension walks partitions."""
        return self in (MemoryRegion.sbuf, MemoryRegion.psum)


@dataclass(slots=True, eq=False)
class Storage:
    """One row-major block: ``partitions`` rows of ``elements`` of ``dtype`` each (one row in HBM)."""

    index: int
    """Row in the program's tensors."""
    trace: Any
    """The trace that it belongs to."""
    buffer: MemoryRegion
    dtype: DType
    partitions: int
    elements: int
    region: int
    """The dynamic loop in whose body it is allocated anew each time, else NONE."""
    name: str
    steps: Shape
    """Elements from one index to the next, by dimension of the tensor as it was made."""
    dynamic: bool = False
    """Whether a dynamic loop around it writes it by matmul, so that only execution knows what is written."""
    strayed: bool = False
    """Whether some ``ap`` of it lies outside, so that instructions have to look at what they are given."""
    on_chip: bool = field(init=False)
    """Whether the first dimension walks partitions."""
    _started: set[int] = field(default_factory=set[int])
    _written: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        self.on_chip = self.buffer.on_chip

    def rename(self, name: str) -> None:
        """Give it the name that messages use."""
        self.name = name
        self.trace.rename(self.index, name)

    def row(self, dtype: DType) -> int:
        """Elements of a dtype per partition."""
        return self.elements * size_of(self.dtype) // size_of(dtype)

    def accumulates(self, access: int, dtype: DType, offset: int, shape: Shape, strides: Shape) -> bool | None:
        """Note a matmul's write: True where earlier ones wrote all of the region, False where none, None where part."""
        if access in self._started:
            return True
        self._started.add(access)
        touched = self._bytes(dtype, offset, shape, strides)
        before = bool(touched.all()) if touched.any() else False
        mixed = not before and bool(touched.any())
        touched[...] = True
        return None if mixed else before

    def _bytes(self, dtype: DType, offset: int, shape: Shape, strides: Shape) -> NDArray[np.bool_]:
        if self._written is None:
            self._written = np.zeros(self.partitions * self.elements * size_of(self.dtype), np.bool_)
        size = size_of(dtype)
        steps = (*(step * size for step in strides), 1)
        return np.ndarray((*shape, size), np.bool_, self._written, offset * size, steps)
