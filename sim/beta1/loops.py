"""The loops of Beta 1, and the programs of a launch grid, which are loops around the kernel."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from math import prod
from typing import Any, cast

from nki_anvil.sim.beta1.calls import recorder
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.errors import TraceError


def affine_range(*bounds: Any, **options: Any) -> Iterator[Index]:
    """Iterations that depend on each other only by accumulation, unless they are scheduled precisely as written."""
    return _range("affine_range", bounds, "sequential" if options.get("precise_schedule") else "affine")


def sequential_range(*bounds: Any, **options: Any) -> Iterator[Index]:
    """Iterations in order."""
    return _range("sequential_range", bounds, "sequential")


def static_range(*bounds: Any) -> range:
    """Iterations that the compiler unrolls: their index is a Python integer."""
    start, stop, step = _bounds("static_range", bounds)
    return range(start, stop, step)


def _range(name: str, bounds: tuple[Any, ...], kind: str) -> Iterator[Index]:
    start, stop, step = _bounds(name, bounds)
    return recorder().iterate(name, start, len(range(start, stop, step)), step, kind)


def _bounds(name: str, bounds: tuple[Any, ...]) -> tuple[int, int, int]:
    if not 1 <= len(bounds) <= 3:
        raise TraceError("NKI-CONTROL", f"nl.{name} of {len(bounds)} arguments.", remedy="Give (start, stop, step).")
    numbers = [operator.index(bound) for bound in bounds]
    if len(numbers) == 1:
        return 0, numbers[0], 1
    start, stop, step = *numbers, *(() if len(numbers) == 3 else (1,))
    if step < 1:
        raise TraceError("NKI-CONTROL", f"nl.{name} steps by {step}.", remedy="Steps are positive.")
    return start, stop, step


def program_id(axis: int) -> Index | int:
    """Which program of the launch runs, on one axis of its grid."""
    grid = recorder().grid
    return grid[operator.index(axis)] if axis < len(grid) else 0


def num_programs(axes: Any = None) -> Any:
    """How many programs there are on one axis of the grid, on several, or in all."""
    extents = recorder().extents
    if axes is None:
        return prod(extents)
    if isinstance(axes, (tuple, list)):
        return tuple(map(num_programs, cast("tuple[Any, ...]", axes)))
    return extents[operator.index(axes)] if axes < len(extents) else 1


def program_ndim() -> int:
    """The axes of the launch grid; none for a launch without brackets."""
    return len(recorder().extents)


class nc:  # noqa: N801 - the name is NKI's
    """``nl.nc(2)``: that many NeuronCores of a launch grid; how programs are spread changes no values."""

    def __init__(self, cores: int) -> None:
        self.cores = int(cores)

    def __mul__(self, other: Any) -> int:
        return self.cores * int(other)

    __rmul__ = __mul__

    def __index__(self) -> int:
        return self.cores


def spmd_dim(*parts: Any) -> int:
    """One axis of a launch grid, spread over cores."""
    total = 1
    for part in parts:
        total *= operator.index(part)
    return total
