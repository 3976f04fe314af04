"""``neuronxcc.nki.compiler``: direct allocation. Tiles are distinct by meaning; where they lie changes no values."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

from nki_anvil.sim.beta1.allocation import Allocation, Place, modulo
from nki_anvil.sim.memory import MemoryRegion

AUTOMATIC: Final = "nki_anvil_automatic"
"""The attribute of a function whose tiles the compiler places."""


class Allocator:
    """``ncc.sbuf`` or ``ncc.psum``; also the plain memory, as ``buffer=ncc.sbuf``."""

    def __init__(self, region: MemoryRegion) -> None:
        self.region = region

    def alloc(self, func: Place) -> Allocation:
        """A place by a function of the block's indices."""
        return Allocation(self.region, func)

    def mod_alloc(
        self,
        *,
        base_addr: Any = 0,
        base_partition: Any = 0,
        num_par_tiles: Any = (),
        num_free_tiles: Any = (),
        base_bank: Any = 0,
        num_bank_tiles: Any = (),
    ) -> Allocation:
        """A place by the block's indices modulo the tiles that are kept."""

        def place(index: tuple[int, ...], partitions: int, size: int) -> tuple[int, ...]:
            start = modulo(base_partition, num_par_tiles, index, partitions)
            inside = start, modulo(base_addr, num_free_tiles, index, size)
            in_bank = self.region is MemoryRegion.psum
            return (modulo(base_bank, num_bank_tiles, index, 1), *inside) if in_bank else inside

        return Allocation(self.region, place)

    def auto_alloc(self, *arguments: Any, **named: Any) -> Allocation:
        """The compiler's choice."""
        return Allocation(self.region)


sbuf = Allocator(MemoryRegion.sbuf)
psum = Allocator(MemoryRegion.psum)


def unchanged(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A decorator that tells the compiler something; values stay what they are."""
    return function if function is not None else unchanged


def automatic(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A decorator that hands all tiles to the compiler: where the text puts them counts no more."""
    if function is None:
        return automatic
    vars(getattr(function, "function", function))[AUTOMATIC] = True
    return function


@contextmanager
def region(*arguments: Any, **options: Any) -> Generator[None]:
    """A context that tells the compiler something."""
    yield


enable_stack_allocator = automatic
force_auto_alloc = automatic
skip_middle_end_transformations = unchanged
no_reorder = region
allocation_scope = region
multi_buffer = region

__all__ = [
    "allocation_scope",
    "enable_stack_allocator",
    "force_auto_alloc",
    "multi_buffer",
    "no_reorder",
    "psum",
    "sbuf",
    "skip_middle_end_transformations",
]
