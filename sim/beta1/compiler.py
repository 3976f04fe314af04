"""``neuronxcc.nki.compiler``: direct allocation. Tiles are distinct by meaning; where they lie changes no values."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nki_anvil.sim.memory import MemoryRegion


@dataclass(frozen=True)
class Allocation:
    """A request for a place: the memory it is in, and how it was asked for."""

    region: MemoryRegion
    arguments: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]


class Allocator:
    """``ncc.sbuf`` or ``ncc.psum``; also the plain memory, as ``buffer=ncc.sbuf``."""

    def __init__(self, region: MemoryRegion) -> None:
        self.region = region

    def alloc(self, *arguments: Any, **named: Any) -> Allocation:
        """A place by a function of the block's indices."""
        return Allocation(self.region, arguments, tuple(named.items()))

    def mod_alloc(self, **named: Any) -> Allocation:
        """A place by the block's indices modulo the tiles that are kept."""
        return Allocation(self.region, (), tuple(named.items()))

    def auto_alloc(self, *arguments: Any, **named: Any) -> Allocation:
        """The compiler's choice."""
        return Allocation(self.region, arguments, tuple(named.items()))


sbuf = Allocator(MemoryRegion.sbuf)
psum = Allocator(MemoryRegion.psum)


def unchanged(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A decorator that tells the compiler something; values stay what they are."""
    return function if function is not None else unchanged


@contextmanager
def region(*arguments: Any, **options: Any) -> Generator[None]:
    """A context that tells the compiler something."""
    yield


enable_stack_allocator = unchanged
force_auto_alloc = unchanged
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
