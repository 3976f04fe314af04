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
from nki_anvil.sim.unfolded import Part, one_after_the_other

WIDE = ArraySpec((256, 64), "float32")
NARROW = ArraySpec((256, 32), "float32")
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


def alike(two: Program, both: Program, before: ArraySpec = WIDE, called: Callable[..., Any] = kernel) -> bool:
    """Whether ``both`` is the kernel for ``before`` and then the program ``two``."""
    one = trace(Kernel(called, two.cores), before)
    return one_after_the_other([Part(one, 0), Part(two, SECOND)], both)


def behind(
    before: ArraySpec, called: Callable[..., Any] = kernel, then: Callable[..., Any] | None = None, cores: int = 1
) -> Program:
    def both(first: Any, second: Any) -> Any:
        return called(first), (then or called)(second)

    return trace(Kernel(both, cores), before, WIDE)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("before", [WIDE, NARROW, ArraySpec((256, 64), "bfloat16")])
def test_the_same_call_is_known_again(before: ArraySpec, cores: int) -> None:
    assert alike(trace(Kernel(kernel, cores), WIDE), behind(before, cores=cores), before)


def test_a_call_at_another_shape_is_another() -> None:
    narrow = trace(kernel, NARROW)
    assert not alike(narrow, behind(WIDE))


def test_a_shorter_program_is_another() -> None:
    assert not alike(trace(kernel, WIDE), trace(kernel, WIDE))


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
    assert not alike(trace(kernel, WIDE), changed(behind(NARROW), table, column, row), NARROW)


def test_other_attributes_and_other_constants_are_seen() -> None:
    alone, program = trace(kernel, WIDE), behind(NARROW)
    attributes = [{**one, "value1": 2.0} if "value1" in one else one for one in program.attributes]
    assert attributes != program.attributes
    assert not alike(alone, replace(program, attributes=attributes), NARROW)
    assert not alike(alone, replace(program, constants=[one + 1 for one in program.constants]), NARROW)


def test_one_register_in_place_of_another_is_seen() -> None:
    def registers(x: Any, *, swapped: bool = False) -> Any:
        out = kernel(x)
        one, other = nisa.register_alloc(1), nisa.register_alloc(0)
        nisa.register_move(dst=one, src=one if swapped else other)
        return out

    alone = trace(registers, WIDE)
    assert alike(alone, behind(WIDE, registers), called=registers)
    swapped = behind(WIDE, registers, lambda x: registers(x, swapped=True))
    assert not alike(alone, swapped, called=registers)


def test_more_before_the_same_call_is_seen_and_so_is_what_is_made_for_nothing() -> None:
    def more(x: Any) -> Any:
        tile = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=tile, value=0.0)
        return kernel(x)

    def wasteful(x: Any) -> Any:
        nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        return kernel(x)

    for then in (more, wasteful):
        assert not alike(trace(kernel, WIDE), behind(WIDE, then=then))
        assert alike(trace(then, WIDE), behind(WIDE, then=then))


def test_a_tensor_of_the_call_before_in_place_of_its_own_is_seen() -> None:
    made: list[Any] = []

    def own(x: Any, place: int = -1) -> Any:
        made.append(nl.ndarray((256, 64), dtype=x.dtype, buffer=nl.shared_hbm))
        nisa.dma_copy(dst=made[place], src=x)
        return made[place]

    alone = trace(own, WIDE)
    assert alike(alone, behind(WIDE, own), called=own)
    assert not alike(alone, behind(WIDE, own, lambda x: own(x, -2)), called=own)


def test_several_calls_in_turn_are_known_again() -> None:
    def three(x: Any, y: Any, z: Any) -> Any:
        return kernel(x), kernel(y), kernel(z)

    parts = [Part(trace(kernel, one), place) for place, one in enumerate((WIDE, NARROW, WIDE))]
    together = trace(three, WIDE, NARROW, WIDE)
    assert one_after_the_other(parts, together)
    assert not one_after_the_other(parts[:2], together)
    assert not one_after_the_other([parts[1], parts[0], parts[2]], together)
