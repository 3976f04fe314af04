"""Which overlaps of what is written with what is read depend on the order of elements: all that a copy can show."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_builder import ProgramBuilder

from nki_anvil.sim.rules import check
from nki_anvil.sim.rules.order import Pair, disturbs, merge

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@st.composite
def copies(draw: Any) -> tuple[Any, Any, Any, Any]:
    """Two accesses of one shape, as places in the order in which they are visited, and their patterns."""
    shape = draw(SHAPES)
    steps = [[draw(st.integers(-3, 5)) for _ in shape] for _ in range(2)]
    apart = draw(st.integers(-6, 6))
    grids = np.indices(shape).reshape(len(shape), -1)
    places = [np.tensordot(np.array(one), grids, 1) for one in steps]
    patterns = [merge(list(zip(one, shape, strict=True))) for one in steps]
    return places[0], places[1] + apart, patterns, apart


def buffered(target: Any, source: Any) -> Any:
    memory = np.arange(128.0)
    memory[target + 64] = memory[source + 64]
    return memory


def in_turn(target: Any, source: Any, order: Any) -> Any:
    memory = np.arange(128.0)
    for place in order:
        memory[target[place] + 64] = memory[source[place] + 64]
    return memory


@given(copies())
def test_an_engine_that_works_in_order_gives_what_was_there_before_unless_it_is_refused(copy: Any) -> None:
    target, source, (one, other), apart = copy
    pair = Pair(one, other, 4 * apart, (4, 4), 1, unordered=False)
    if not disturbs(pair):
        assert np.array_equal(buffered(target, source), in_turn(target, source, range(len(target))))


@given(copies(), st.randoms(use_true_random=False))
def test_a_transfer_in_any_order_gives_the_same_unless_it_is_refused(copy: Any, random: Any) -> None:
    target, source, (one, other), apart = copy
    order = list(range(len(target)))
    random.shuffle(order)
    pair = Pair(one, other, 4 * apart, (4, 4), 1, unordered=True)
    if not disturbs(pair) and len(set(target.tolist())) == len(target):
        assert np.array_equal(buffered(target, source), in_turn(target, source, order))


@pytest.mark.parametrize(
    ("target", "source", "apart", "engine", "dma"),
    [
        pytest.param([(10, 4), (1, 8)], [(10, 4), (1, 8)], 4, False, True, id="to the left"),
        pytest.param([(10, 4), (1, 8)], [(10, 4), (1, 8)], -4, True, True, id="to the right"),
        pytest.param([(20, 4), (1, 8)], [(20, 4), (1, 8)], 40, False, False, id="to the other half"),
        pytest.param([(10, 4), (1, 8)], [(10, 4), (1, 8)], 0, False, False, id="in place"),
        pytest.param([(8, 8), (1, 8)], [(1, 8), (8, 8)], 0, True, True, id="transposed in place"),
        pytest.param([(8, 4), (1, 8)], [(8, 4), (0, 8)], 0, True, True, id="the first element all over"),
    ],
)
def test_overlaps_are_judged_by_who_reads_ahead(target: Any, source: Any, apart: int, engine: bool, dma: bool) -> None:
    lanes = target[0][1]
    for unordered, wanted in ((False, engine), (True, dma)):
        pair = Pair(merge(target), merge(source), apart, (4, 4), 1 if unordered else lanes, unordered)
        assert disturbs(pair) is wanted
        assert math.prod(count for _, count in pair.target) == 8 * lanes


@pytest.mark.parametrize(
    ("name", "index", "refused"),
    [
        pytest.param("dma_transpose", None, True, id="a transfer that turns"),
        pytest.param("nc_transpose", None, True, id="a transposition on the Vector Engine"),
        pytest.param("nonzero_with_count", None, True, id="places of what is not zero"),
        pytest.param("sequence_bounds", None, True, id="where runs of equal numbers begin and end"),
        pytest.param("nc_n_gather", "uint32", True, id="a gather within partitions"),
        pytest.param("local_gather", "uint16", True, id="a gather within a core"),
        pytest.param("nc_stream_shuffle", None, False, id="a shuffle, which AWS allows"),
        pytest.param("dma_copy", None, False, id="a copy of each element onto itself"),
    ],
)
@pytest.mark.parametrize("in_place", [True, False])
def test_what_moves_elements_does_not_work_in_place(
    name: str, index: str | None, refused: bool, in_place: bool
) -> None:
    b = ProgramBuilder()
    tile, other = b.tensor((32, 32)), b.tensor((32, 32))
    b.emit("memset", tile, value=0)
    options: dict[str, Any] = {"num_elem_per_idx": 1} if name == "local_gather" else {}
    if name == "nc_stream_shuffle":
        options = {"shuffle_mask": [*range(32)][::-1]}
    chosen = [b.tensor((32, 2 if name == "local_gather" else 32), index)] if index else []
    for one in chosen:
        b.emit("memset", one, value=0)
    b.emit(name, tile if in_place else other, tile, *chosen, line=7, **options)
    found = {finding.code for finding in check(b.program()) if finding.line == 7}
    assert ("TRN2-ORDER-READ" in found) == (refused and in_place)


@pytest.mark.parametrize(("name", "width", "dtype"), [("nc_n_gather", 32, "uint32"), ("local_gather", 2, "uint16")])
def test_a_gather_does_not_write_over_its_own_indices(name: str, width: int, dtype: str) -> None:
    for over in (True, False):
        b = ProgramBuilder()
        tile, other, index = b.tensor((32, 32), dtype), b.tensor((32, 32), dtype), b.tensor((32, 32), dtype)
        for one in (tile, other, index):
            b.emit("memset", one, value=0)
        options: dict[str, Any] = {"num_elem_per_idx": 1} if name == "local_gather" else {}
        chosen = index[:, :width]
        b.emit(name, index if over else other, tile, chosen, line=7, **options)
        found = {finding.code for finding in check(b.program()) if finding.line == 7}
        assert ("TRN2-ORDER-READ" in found) == over


@pytest.mark.parametrize(("column", "width", "refused"), [(0, 8, True), (8, 8, False), (7, 1, False)])
def test_what_is_read_once_for_a_row_is_not_written_with_it(column: int, width: int, refused: bool) -> None:
    """A scale that lies in what is scaled; beside it, and where it is all of it, it may."""
    b = ProgramBuilder()
    tile = b.tensor((32, 16))
    b.emit("memset", tile, value=1)
    target = tile[:, :width] if width > 1 else tile[:, column : column + 1]
    scale = tile[:, column : column + 1]
    b.emit("tensor_scalar", target, target, scale, None, line=7, op0="multiply")
    found = {finding.code for finding in check(b.program()) if finding.line == 7}
    assert ("TRN2-ORDER-READ" in found) == refused
