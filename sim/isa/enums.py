"""The enumerations of ``nki.isa``, with the values of its stubs (NKI 0.6)."""

from __future__ import annotations

from enum import Enum
from typing import Final

from nki_anvil.sim.builder import Place
from nki_anvil.sim.errors import NotSimulated, TraceError


class engine(Enum):  # noqa: N801 - the names are NKI's
    """Engines of a NeuronCore."""

    tensor = 1
    vector = 5
    scalar = 2
    gpsimd = 3
    dma = 4
    sync = 6
    unknown = 0


class reduce_cmd(Enum):  # noqa: N801
    """What an instruction does with its engine's accumulators."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(Enum):  # noqa: N801
    """Who generates DMA descriptors."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(Enum):  # noqa: N801
    """What a dynamic index outside of its tensor does."""

    error = 0
    skip = 1


class matmul_perf_mode(Enum):  # noqa: N801
    """Performance modes of a matmul."""

    none = "none"
    double_row = "double_row"


class nc_version(Enum):  # noqa: N801
    """Generations of NeuronCores; they compare in order."""

    gen2 = 2
    gen3 = 3
    gen4 = 4

    def __lt__(self, other: nc_version) -> bool:
        return self.value < other.value

    def __le__(self, other: nc_version) -> bool:
        return self.value <= other.value

    def __gt__(self, other: nc_version) -> bool:
        return self.value > other.value

    def __ge__(self, other: nc_version) -> bool:
        return self.value >= other.value


class dma_engine(Enum):  # noqa: N801
    """Which DMA moves data between the two cores of a pair."""

    dma = 1
    gpsimd_dma = 2


tensor_engine: Final = engine.tensor
vector_engine: Final = engine.vector
scalar_engine: Final = engine.scalar
gpsimd_engine: Final = engine.gpsimd
unknown_engine: Final = engine.unknown


class NkiInstruction:
    """What a call of ``nki.isa`` returns: a handle for scheduling, not a tile."""

    __slots__ = ("_place",)

    def __init__(self, place: Place) -> None:
        self._place = place

    def depends_on(self, *producers: NkiInstruction) -> NkiInstruction:
        """Run after the producers, which in program order it does anyway. Raises TraceError where it does not."""
        number, core, loops = self._place
        for before, other, around in (one._place for one in producers):
            if other != core or loops[: len(around)] != around:
                raise TraceError(
                    "NKI-CONTROL", "An instruction depends on one in a loop on the device that it is not in itself, or"
                    " on another core's.", remedy="Wait within one body: what follows a loop runs after it anyway.",
                )  # fmt: skip
            if before >= number:
                raise NotSimulated(
                    "An instruction depends on itself or on a later one, which is another order than the program's.",
                    remedy="Write the producer before it.",
                )
        return self


class NkiValidationError(Exception):
    """NKI's own error for violated limits of the hardware; kernels may name it."""
