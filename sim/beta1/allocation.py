"""Where a kernel puts tiles by hand: inside of the memory, where engines reach, and nothing beside them by itself."""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from nki_anvil.sim.chips import CHIPS, starts
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.memory import MemoryRegion

Place: TypeAlias = Callable[..., Sequence[Any]]
"""Called with a block's index, its partitions and its bytes per partition; gives the first partition and byte in SBUF,
and before them the bank in PSUM."""
_CHIP: Final = CHIPS["trn1"]
"""The direct allocation guide knows this one's memory alone, and leaves its end to the compiler."""


@dataclass(frozen=True)
class Allocation:
    """A request for places in a memory."""

    region: MemoryRegion
    place: Place | None = None
    """None is the compiler's choice."""

    def places(self, blocks: Shape, partitions: int, size: int) -> list[tuple[int, int]]:
        """The first partition and byte of each block; raises TraceError where one would lie outside."""
        result: list[tuple[int, int]] = []
        for index in itertools.product(*map(range, blocks)) if self.place is not None else ():
            found, bank = self._found(index, partitions, size), 0
            if self.region is MemoryRegion.psum:
                self._check_bank(bank := found.pop(0))
            start, byte = found
            self._check_partition(start, partitions)
            in_bank = self.region is MemoryRegion.psum
            end = _CHIP.psum_bank_bytes if in_bank else _CHIP.sbuf_partition_bytes
            last = end if in_bank else _CHIP.sbuf_usable_partition_bytes
            if not 0 <= byte < last or byte + size > end:
                raise TraceError(
                    "TRN2-ADDRESS",
                    f"A tile of {size} bytes per partition is put at byte {byte} of {self.region.value}.",
                    remedy=f"Addresses lie in 0 to {last - 1}, and tiles end before {end}.",
                )
            result.append((start, bank * _CHIP.psum_bank_bytes + byte))
        return result

    def _found(self, index: tuple[int, ...], partitions: int, size: int) -> list[int]:
        """What the function says of a block; public kernels take the names of its arguments for granted, or none."""
        assert self.place is not None
        named = {"idx": index, "pdim_size": partitions, "fdim_size": size}
        try:
            inspect.signature(self.place).bind(**named)
        except TypeError:
            return [operator.index(number) for number in self.place(index, partitions, size)]
        return [operator.index(number) for number in self.place(**named)]

    def _check_bank(self, bank: int) -> None:
        if not 0 <= bank < _CHIP.psum_banks:
            last = _CHIP.psum_banks - 1
            raise TraceError(
                "TRN2-ADDRESS", f"A tile is put into bank {bank} of PSUM.", remedy=f"Banks are 0 to {last}."
            )

    def _check_partition(self, start: int, partitions: int) -> None:
        allowed = starts(partitions)
        if start not in allowed:
            raise TraceError(
                "TRN2-PART-START",
                f"A tile of {partitions} partitions is put at partition {start}.",
                remedy=f"So many begin at partition {' or '.join(map(str, allowed))}.",
            )


def modulo(base: Any, tiles: Any, index: tuple[int, ...], scale: int) -> int:
    """A block's place among the tiles that are kept, as the vendor's text of ``mod_alloc`` computes it."""
    kept = tuple(map(operator.index, tiles)) or (1,) * len(index)
    number = 0
    for at, count in zip(index, kept, strict=False):
        number = number * count + at % count
    return operator.index(base) + number * scale


class ByHand:
    """Whether the kernel places tiles by hand, and what it leaves to the compiler, which would collide with them."""

    def __init__(self) -> None:
        self.overruled = False
        """Whether a decorator hands all tiles to the compiler after all."""
        self._placed: set[MemoryRegion] = set()
        self._left: dict[MemoryRegion, str] = {}

    def placed(self, region: MemoryRegion) -> None:
        """A tile is placed in a memory."""
        self._placed.add(region)
        self._check()

    def left(self, region: MemoryRegion, what: str) -> None:
        """The compiler places something. Of PSUM it is what an instruction needs besides its operands."""
        self._left.setdefault(region, what)
        self._check()

    def _check(self) -> None:
        for region, what in self._left.items():
            if not self.overruled and (region in self._placed or (self._placed and region is MemoryRegion.psum)):
                raise TraceError(
                    "NKI-ALLOCATION",
                    f"{what}, in a kernel that places tiles by hand.",
                    remedy="Allocate every tile by ncc.sbuf.alloc or mod_alloc and assign results to it, t[...] = ...;"
                    " transpose by nisa.nc_matmul with an identity; or leave all to the compiler.",
                )
