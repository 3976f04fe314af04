"""Rows numbered by equality, patterns of accesses, and whether an access covers its tensor."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from program_builder import ProgramBuilder, View

from nki_anvil.sim.coverage import covering
from nki_anvil.sim.kinds import firsts, numbered, patterns
from nki_anvil.sim.operands import indices, operands

VALUES = st.sampled_from([-(1 << 40), -1, 0, 1, 2, 3, 1 << 40])


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=40))
def test_rows_have_the_same_number_where_all_columns_agree_and_only_there(rows: list[tuple[int, int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(len(rows), 3).T
    kinds = numbered(columns).tolist()
    assert len(set(zip(kinds, rows, strict=True))) == len(set(rows)) == len(set(kinds))
    assert sorted(set(kinds)) == list(range(len(set(rows))))
    assert firsts(np.array(kinds, np.int64)) == [kinds.index(kind) for kind in range(len(set(kinds)))]


SIZE = 6
PAIRS = st.lists(st.tuples(st.integers(0, SIZE), st.integers(1, SIZE)), min_size=1, max_size=3)


@given(st.lists(st.tuples(PAIRS, st.integers(0, 2)), min_size=1, max_size=6))
def test_an_access_covers_its_tensor_where_it_touches_every_element_once(
    accesses: list[tuple[list[tuple[int, int]], int]],
) -> None:
    b = ProgramBuilder()
    tensor = b.tensor((1, SIZE))
    for pattern, offset in accesses:
        b.access(View(tensor.tensor, "float32", offset, tuple(pattern)))
    program = b.program()
    assert [patterns(program).different[kind] for kind in patterns(program).of] == [list(p) for p, _ in accesses]
    for (pattern, offset), covers in zip(accesses, covering(program).tolist(), strict=True):
        places = np.array([offset])
        for step, count in pattern:
            places = (places[:, None] + step * np.arange(count)).reshape(-1)
        assert covers == (sorted(places.tolist()) == list(range(SIZE)))


def test_operands_say_who_writes_updates_and_reads_and_where_dynamic_offsets_come_from() -> None:
    b = ProgramBuilder()
    table, index, out = b.input((8, 4)), b.tensor((1, 1), "int32"), b.tensor((2, 4))
    total = b.tensor((4, 4), memory="psum")
    b.emit("dma_copy", out, b.shifted(table[0:2], 4, by=index))
    b.emit("nc_matmul", total, out, out)
    program = b.program()
    found = operands(program)
    assert found.instruction.tolist() == [0, 0, 1, 1, 1]
    assert found.slot.tolist() == [0, 1, 0, 1, 2]
    assert found.writes.tolist() == [True, False, True, False, False]
    assert found.updates.tolist() == [False, False, True, False, False]
    sites, read = indices(program, found)
    assert sites.tolist() == [0]
    assert program.tables["accesses"]["tensor"][read].tolist() == [index.tensor]
