"""One call of a kernel is known again behind another one, and whatever else it does is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import nki_anvil.sim.isa as nisa
import nki_anvil.sim.language as nl
from nki_anvil.sim.kernel import Kernel
from nki_anvil.sim.program import Program
from nki_anvil.sim.tracing import ArraySpec, trace
from nki_anvil.sim.unfolded import calls_alike

WIDE = ArraySpec((256, 64), "float32")
SECOND = 1
"""The argument that the second call is given."""


def kernel(x: Any) -> Any:
    """Rows in a loop, through a constant, a register that moves reads, and a tile for each."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    level = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=level, src=nl.shared_constant(np.full((128, 1), 2.0, np.float32)))

    def rows(start: Any) -> None:
        tile = nl.ndarray((128, x.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[nl.ds(start * 128, 128), :])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=level, op1=nl.add, operand1=1.0)
        nisa.dma_copy(dst=out[nl.ds(start * 128, 128), :], src=tile)

    nl.fori_loop(0, 2, rows)
    return out


def behind(before: ArraySpec, called: Callable[..., Any] = kernel, cores: int = 1) -> Program:
    def both(first: Any, second: Any) -> Any:
        called(first)
        return called(second)

    return trace(Kernel(both, cores), before, WIDE)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("before", [WIDE, ArraySpec((256, 32), "float32"), ArraySpec((256, 64), "bfloat16")])
def test_the_same_call_is_known_again(before: ArraySpec, cores: int) -> None:
    assert calls_alike(trace(Kernel(kernel, cores), WIDE), behind(before, cores=cores), SECOND)


def test_a_call_at_another_shape_is_another() -> None:
    narrow = trace(kernel, ArraySpec((256, 32), "float32"))
    assert not calls_alike(narrow, behind(WIDE), SECOND)


def test_a_shorter_program_is_another() -> None:
    assert not calls_alike(behind(WIDE), trace(kernel, WIDE), 0)


def changed(program: Program, table: str, column: str, row: int) -> Program:
    values = program.tables[table][column].copy()
    values[row] ^= 1
    return replace(program, tables={**program.tables, table: {**program.tables[table], column: values}})


@pytest.mark.parametrize(
    ("table", "column", "row"),
    [
        ("instructions", "opcode", -1),
        ("instructions", "engine", -1),
        ("instructions", "region", -1),
        ("accesses", "offset", -1),
        ("accesses", "dtype", -1),
        ("accesses", "scalar_step", -1),
        ("pairs", "step", -1),
        ("tensors", "elements", -1),
        ("tensors", "memory", -1),
        ("regions", "upper", -1),
        ("regions", "step", -1),
        ("outputs", "access", 0),
    ],
)
def test_a_change_to_the_last_call_is_seen(table: str, column: str, row: int) -> None:
    program = behind(ArraySpec((256, 32), "float32"))
    assert not calls_alike(trace(kernel, WIDE), changed(program, table, column, row), SECOND)


def test_other_attributes_and_other_constants_are_seen() -> None:
    alone, program = trace(kernel, WIDE), behind(ArraySpec((256, 32), "float32"))
    attributes = [{**one, "value1": 2.0} if "value1" in one else one for one in program.attributes]
    assert attributes != program.attributes
    assert not calls_alike(alone, replace(program, attributes=attributes), SECOND)
    assert not calls_alike(alone, replace(program, constants=[one + 1 for one in program.constants]), SECOND)


def test_one_register_in_place_of_another_is_seen() -> None:
    def registers(x: Any, *, swapped: bool = False) -> Any:
        out = kernel(x)
        one, other = nisa.register_alloc(1), nisa.register_alloc(0)
        nisa.register_move(dst=one, src=one if swapped else other)
        return out

    alone = trace(registers, WIDE)
    assert calls_alike(alone, behind(WIDE, registers), SECOND)
    assert not calls_alike(alone, behind(WIDE, lambda x: registers(x, swapped=True)), SECOND)
