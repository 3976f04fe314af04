"""What of a reference's inputs and outputs belongs together, and hangs on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from nki_anvil.lab.arithmetic import Array
from nki_anvil.lab.honest_runs import is_float
from nki_anvil.lab.meeting import Event
from nki_anvil.lab.searched_reference import Inputs, moved

Run = Callable[[Inputs], tuple[list[Array], list[Event]]]
"""The outputs of a run in float64, its sums and what it compares; of inputs in float64, brought into their domains."""


@dataclass(frozen=True, slots=True)
class Units:
    """What of inputs and outputs belongs together, and hangs on nothing else: along ``shape``, the first axes of all of
    these, or the last ones."""

    shape: tuple[int, ...]
    leading: bool
    inputs: tuple[str, ...]

    @property
    def count(self) -> int:
        return prod(self.shape)

    def fits(self, item: Array) -> bool:
        axes = len(self.shape)
        ends = item.shape[:axes] if self.leading else item.shape[item.ndim - axes :]
        return item.ndim >= axes and ends == self.shape

    def laid_out(self, item: Array) -> Array:
        """[units, numbers of each]."""
        return item.reshape(self.count, -1) if self.leading else item.reshape(-1, self.count).T

    def put_back(self, rows: Array, like: Array) -> Array:
        return (rows if self.leading else rows.T).reshape(like.shape)

    def joined(self, inputs: Inputs) -> Array:
        """The numbers of all inputs, unit by unit."""
        return np.concatenate([self.laid_out(inputs[name].astype(np.float64)) for name in self.inputs], axis=1)

    def parted(self, rows: Array, like: Inputs) -> Inputs:
        """The inputs of which these are the numbers."""
        ends = np.cumsum([like[name].size // self.count for name in self.inputs])
        parts: list[Array] = np.split(rows, ends[:-1], axis=1)
        return {name: self.put_back(part, like[name]) for name, part in zip(self.inputs, parts, strict=True)}

    def alike(self, numbers: Array) -> Array:
        """One number, or row of numbers, for all units that are one row of their first axis."""
        rows = self.shape[0] if self.shape else 1
        by_row = numbers.reshape(rows, -1, *numbers.shape[1:])
        return np.broadcast_to(by_row[:, :1], by_row.shape).reshape(numbers.shape)


def units_of(run: Run, drawn: Inputs, other: Inputs, movable: Callable[[Any], bool] = is_float) -> Units | None:
    """The smallest ones: elements of the first output (of floats, if any is), its rows, or all inputs together.

    Their inputs are the arrays that are ``movable``.
    """
    outputs = run(drawn)[0]
    if not outputs:
        return None
    shape = next((one for one in outputs if one.dtype.kind == "f"), outputs[0]).shape
    for axes in range(len(shape), -1, -1):
        for leading in (True, False):
            found = _units(run, drawn, other, outputs, shape, axes, leading, movable)
            if found is not None:
                return found
    return None


def _units(
    run: Run,
    drawn: Inputs,
    other: Inputs,
    before: Sequence[Array],
    shape: tuple[int, ...],
    axes: int,
    leading: bool,
    movable: Callable[[Any], bool],
) -> Units | None:
    """Those along so many of an output's axes; None where what other units hold moves them."""
    units = Units(shape[:axes] if leading else shape[len(shape) - axes :], leading, ())
    having = tuple(name for name, item in drawn.items() if movable(item) and item.size and units.fits(item))
    units = Units(units.shape, leading, having)
    if not having or (axes and units.count < 2):
        return None
    changed: Array = np.random.default_rng(units.count).random(units.count) < 0.5
    mixed = np.where(changed[:, None] & (units.count > 1), units.joined(other), units.joined(drawn))
    for was, now in zip(before, run(drawn | units.parted(mixed, drawn))[0], strict=True):
        if units.fits(was) and moved(units.laid_out(was), units.laid_out(now))[~changed & (units.count > 1)].any():
            return None
    return units
