"""Registers: 32-bit integers outside the tensor memories, and the instructions that print."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from nki_anvil.sim.execution.bench import Bench, Registers
from nki_anvil.sim.execution.operand import Operand, scalar_of
from nki_anvil.sim.execution.registry import defines
from nki_anvil.sim.execution.site import Site

_WORD = 1 << 32


def _signed(value: int) -> int:
    return (value + _WORD // 2) % _WORD - _WORD // 2


@defines("register_move")
def register_move(site: Site) -> None:
    """register = another register, or an immediate."""
    registers, target = site.bench.registers, site["register"]
    if site["source"] is not None:
        site.do(_move, registers, target, site["source"], site.line)
    else:
        site.do(registers.__setitem__, target, _signed(int(site["value"] or 0)))


def _move(registers: Registers, target: int, source: int, line: int) -> None:
    registers[target] = registers.read(source, line)


_ARITHMETIC = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}


@defines("register_compute")
def register_compute(site: Site) -> None:
    """register = another register combined with a third or an immediate, in 32 bits that wrap."""
    function = _ARITHMETIC[site["op"]]
    named = (site["register"], site["source"], site["other"])
    site.do(_compute, site.bench.registers, site.line, function, *named, *_rest(site))


def _rest(site: Site) -> tuple[int, bool]:
    return int(site["value"] or 0), bool(site["reverse0"])


def _compute(
    registers: Registers, line: int, function: Any, target: int, source: int, other: int | None, value: int, back: bool
) -> None:
    left, right = registers.read(source, line), value if other is None else registers.read(other, line)
    registers[target] = _signed(function(right, left) if back else function(left, right))


@defines("register_load")
def register_load(site: Site) -> None:
    """register = the one element of a tensor."""
    site.do(_load, site.bench, site["register"], site.operand("src"), site.line)


def _load(bench: Bench, register: int, source: Operand, line: int) -> None:
    """Whether a narrow number below zero is itself in the register, or its own bits alone, no page says."""
    view = source.get()[0]
    number = scalar_of(view, line)
    if number < 0 and view.dtype.kind == "i" and bench.lots.other("register_load"):
        number %= 1 << 8 * view.dtype.itemsize
    bench.registers[register] = _signed(number)


@defines("register_store")
def register_store(site: Site) -> None:
    """The one element of a tensor = register."""
    site.do(_store, site.bench, site["register"], site.operand("dst"), site.line)


def _store(bench: Bench, register: int, target: Operand, line: int) -> None:
    """What is kept of a number that the tensor's format does not hold no page says: low bits, or the format's end."""
    view = np.empty(target.shape, target.get()[0].dtype)
    number = np.array(bench.registers.read(register, line), np.int64)
    limits = np.iinfo(view.dtype)
    if not limits.min <= number <= limits.max and not bench.lots.other("register_store"):
        number = np.clip(number, limits.min, limits.max)
    view[...] = number.astype(view.dtype)
    target.put(view)


_PRINTED_LIMIT = 1 << 16


@defines("device_print")
def device_print(site: Site) -> None:
    """Print a tensor's values; a run keeps the first 64 KiB."""
    site.do(_print, site.bench, site["prefix"], site.operand("tensor"))


def _print(bench: Bench, prefix: str, operand: Operand) -> None:
    if sum(map(len, bench.printed)) < _PRINTED_LIMIT:
        values: Any = np.array2string(np.asarray(operand.get()[0], np.float32), threshold=64)
        bench.printed.append(f"{prefix}{values}\n")


@defines("core_barrier")
def core_barrier(site: Site) -> None:
    """One core has nobody to wait for."""
