"""The rules on where accesses lie, for those that data move: judged whenever their instruction runs.

What the rules say of the others before anything runs (``sim.rules``) is said here in the same words and codes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nki_anvil.sim.chips import CHIPS, starts
from nki_anvil.sim.dtypes import size_of
from nki_anvil.sim.execution.errors import ExecutionError
from nki_anvil.sim.rules.order import Merged, Pair, disturbs, is_spread, merge, turns

if TYPE_CHECKING:
    from nki_anvil.sim.execution.bench import Step
    from nki_anvil.sim.execution.operand import Operand
    from nki_anvil.sim.execution.site import Site

_CHIP = ("sbuf", "psum")
_FREE_STARTS = ("dma", "sync")
"""Engines that reach any partition."""


def checks(site: Site) -> Iterator[Step]:
    """Steps that raise ExecutionError where an operand that moves has come to stand where it may not."""
    there = {slot: operand for slot, operand in site.operands.items() if operand is not None}
    written = {slot.rstrip("?") for slot in site.instruction.writes}
    for slot, operand in there.items():
        if operand.dynamic and operand.memory in _CHIP and not operand.gathered:
            yield partial(_Stand.of(site, operand, slot in written).judge, operand)
    for target in (operand for slot, operand in there.items() if slot in written):
        for slot, source in ((slot, operand) for slot, operand in there.items() if slot not in written):
            if target.tensor == source.tensor and (target.dynamic or source.dynamic):
                turned = turns(site.instruction.name, slot)
                yield partial(_in_order, site, target, source, merge(target.pattern), merge(source.pattern), turned)


class _Stand(NamedTuple):
    """Where an operand on chip stands before it moves, and what it may do."""

    row: int
    """Elements per partition."""
    low: int
    high: int
    """First and last free element within its partition."""
    partition: int
    base: int
    """The tensor's own first partition and byte, for one at an address."""
    byte: int
    name: str
    line: int
    fixed: bool
    """An engine that reaches only certain partitions."""
    bank: int
    """Bytes that it may not cross, 0 for any."""

    @staticmethod
    def of(site: Site, operand: Operand, written: bool) -> _Stand:
        tensors = site.memory.program.tables["tensors"]
        spans = [step * (count - 1) for step, count in operand.pattern[1:]]
        partition, column = divmod(operand.offset, operand.row)
        banked = written and site.engine == "tensor" and operand.memory == "psum"
        return _Stand(
            row=operand.row,
            low=column + sum(min(span, 0) for span in spans),
            high=column + sum(max(span, 0) for span in spans),
            partition=partition,
            base=max(int(tensors["address_partition"][operand.tensor]), 0),
            byte=max(int(tensors["address_byte"][operand.tensor]), 0),
            name=site.instruction.name,
            line=site.line,
            fixed=site.engine not in _FREE_STARTS,
            bank=CHIPS[site.memory.program.chip].psum_bank_bytes if banked else 0,
        )

    def judge(self, operand: Operand) -> None:
        """Moves by whole rows change the partition, others may not leave it."""
        shift = operand.shift()
        if shift is None:
            return
        down, along = divmod(shift, self.row) if operand.by_rows else (0, shift)
        if self.low + along < 0 or self.high + along >= self.row:
            found = f"{self.name} is moved to elements {self.low + along} to {self.high + along} of a partition"
            raise self._broken("TRN2-PART-STEP", f"{found} that has {self.row}")
        start, count = self.base + self.partition + down, operand.shape[0]
        if self.fixed and start not in starts(count):
            places = " or ".join(map(str, starts(count)))
            found = f"{self.name} is moved to {count} partitions from {start}; it may start at {places}"
            raise self._broken("TRN2-PART-START", found)
        if self.bank:
            size = size_of(operand.dtype)
            first = (self.byte + (self.low + along) * size) // self.bank
            last = (self.byte + (self.high + along + 1) * size - 1) // self.bank
            if first != last:
                raise self._broken("TRN2-PSUM-BANK", f"{self.name} is moved over PSUM banks {first} to {last}")

    def _broken(self, code: str, message: str) -> ExecutionError:
        return ExecutionError(code, message, self.line)


def _in_order(site: Site, target: Operand, source: Operand, written: Merged, read: Merged, turned: bool) -> None:
    """An instruction whose result depends on the order of its own elements (``rules.order``)."""
    unordered = site.engine == "dma"
    if target.gathered or source.gathered:
        first, second = target.places(), source.places()
        broken = (turned or not np.array_equal(first, second)) and bool(np.isin(first, second).any())
    else:
        moved, taken = target.shift(), source.shift()
        if moved is None or taken is None:
            return
        on_chip = target.memory in _CHIP
        sizes = [math.prod(operand.shape[1:]) for operand in (target, source)]
        turned = turned or (on_chip and is_spread(*sizes))
        if on_chip and not turned and not unordered and min(sizes) == 1:
            return
        widths = (size_of(target.dtype), size_of(source.dtype))
        apart = (source.offset + taken) * widths[1] - (target.offset + moved) * widths[0]
        broken = disturbs(Pair(written, read, apart, widths, target.shape[0] if on_chip else 1, unordered, turned))
    if broken:
        message = f"{site.instruction.name} writes elements of a tensor that it has yet to read"
        raise site.fault("TRN2-ORDER-READ", message)
