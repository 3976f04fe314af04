"""Moving data: patterns, casts, gathers with their bounds, shuffles, predicated copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from program_builder import ProgramBuilder

from nki_anvil.sim.execution import Executable, ExecutionError


def run(b: ProgramBuilder, *inputs: Any) -> Any:
    return Executable(b.program()).run(inputs).outputs[0]


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def test_a_dma_walks_both_patterns_in_order() -> None:
    b, x = ProgramBuilder(), numbers(4, 6)
    source, out, tile = b.input((4, 6)), b.result((6, 4)), b.tensor((6, 4))
    b.emit("dma_copy", tile, source.ap([(1, 6), (6, 4)]))
    b.emit("dma_copy", out, tile)
    assert (run(b, x) == x.T).all()


def test_a_step_of_zero_repeats_a_row() -> None:
    b, x = ProgramBuilder(), numbers(1, 5)
    source, out = b.input((1, 5)), b.result((8, 5))
    b.emit("dma_copy", out, source.ap([(0, 8), (1, 5)]))
    assert (run(b, x) == np.repeat(x, 8, 0)).all()


def gather(indices: list[int], mode: str = "error") -> Any:
    b, x = ProgramBuilder(), numbers(6, 5)
    source, index = b.input((6, 5)), b.input((len(indices), 1), "int32")
    held, tile, out = b.tensor((len(indices), 1), "int32"), b.tensor((len(indices), 5)), b.result((len(indices), 5))
    b.emit("dma_copy", held, index)
    b.emit("memset", tile, value=-1.0)
    rows = b.gathered(source.ap([(5, len(indices)), (1, 5)]), 5, held)
    b.emit("dma_copy", tile, rows, oob_mode=mode, line=9)
    b.emit("dma_copy", out, tile)
    return run(b, x, np.array(indices, np.int32).reshape(-1, 1))


def test_an_index_tile_gathers_rows() -> None:
    assert gather([5, 0, 0, 2])[:, 0].tolist() == [25, 0, 0, 10]


@pytest.mark.parametrize("index", [6, -1])
def test_an_index_outside_is_an_error_with_its_line_or_is_skipped(index: int) -> None:
    with pytest.raises(ExecutionError, match=rf"line 9: a dynamic index is {index}.*SIM-OOB"):
        gather([0, index])
    assert gather([0, index, 1], "skip")[:, 0].tolist() == [0, -1, 5]


def moved(index: int, stores: bool, poison: int, lot: int = 0) -> Any:
    """Two rows of numbers, taken from six or stored among six of -1 from a row on; what is outside is skipped."""
    b, x = ProgramBuilder(), numbers(6, 5)
    source, register = b.input((6, 5)), b.register()
    b.emit("register_move", register=register, source=None, value=index)
    tile, out = b.tensor((2, 5)), b.result((6, 5) if stores else (2, 5))
    b.emit("memset", tile, value=-1.0)
    if stores:
        b.emit("dma_copy", out, source)
        b.emit("dma_copy", b.shifted(out.ap([(5, 2), (1, 5)]), 5, register=register), tile, oob_mode="skip")
    else:
        b.emit("dma_copy", tile, b.shifted(source.ap([(5, 2), (1, 5)]), 5, register=register), oob_mode="skip")
        b.emit("dma_copy", out, tile)
    return Executable(b.program()).run([x], poison=poison, lot=lot).outputs[0][:, 0].tolist()


@pytest.mark.parametrize("poison", [0, 1])
@pytest.mark.parametrize(
    ("index", "stored", "loaded"),
    [
        (4, [0, 5, 10, 15, -1, -1], [20, 25]),
        (6, [0, 5, 10, 15, 20, 25], [-1, -1]),
        (-2, [0, 5, 10, 15, 20, 25], [-1, -1]),
    ],
)
def test_a_transfer_that_lies_outside_is_skipped(index: int, stored: Any, loaded: Any, poison: int) -> None:
    assert moved(index, stores=True, poison=poison) == stored
    assert moved(index, stores=False, poison=poison) == loaded


@pytest.mark.parametrize(
    ("index", "stored", "loaded"),
    [(5, [0, 5, 10, 15, 20, -1], [25, -1]), (-1, [-1, 5, 10, 15, 20, 25], [-1, 0])],
)
def test_of_a_transfer_that_lies_outside_in_part_the_rest_comes_or_nothing(
    index: int, stored: Any, loaded: Any
) -> None:
    """Either of which a chip may do; nothing tells the place from one to which a whole transfer came, or none."""
    assert moved(index, stores=True, poison=0) == stored
    assert moved(index, stores=False, poison=0) == loaded
    assert moved(index, stores=True, poison=1) == [0, 5, 10, 15, 20, 25]
    assert moved(index, stores=False, poison=1) == [-1, -1]


def test_by_lot_a_transfer_that_lies_outside_in_part_goes_either_way() -> None:
    whole, none = [25, -1], [-1, -1]
    both = [(moved(5, False, 0, lot), moved(5, False, 1, lot)) for lot in range(1, 20)]
    assert {tuple(map(tuple, pair)) for pair in both} == {(tuple(whole), tuple(none)), (tuple(none), tuple(whole))}


def test_a_transposed_window_that_lies_outside_in_part_keeps_its_elements_where_they_belong() -> None:
    b, x = ProgramBuilder(), numbers(6, 5)
    source, register, tile = b.input((6, 5)), b.register(), b.tensor((5, 2))
    b.emit("register_move", register=register, source=None, value=5)
    b.emit("memset", tile, value=-1.0)
    b.emit("dma_transpose", tile, b.shifted(source.ap([(5, 2), (1, 5)]), 5, register=register), oob_mode="skip")
    b.emit("dma_copy", b.result((5, 2)), tile)
    assert run(b, x).tolist() == [[number, -1] for number in range(25, 30)]


def test_an_index_tile_scatters_rows() -> None:
    b, x = ProgramBuilder(), numbers(2, 3)
    source, index, out = b.input((2, 3)), b.input((2, 1), "int32"), b.result((4, 3))
    zero, held = b.tensor((4, 3)), b.tensor((2, 1), "int32")
    b.emit("memset", zero, value=0.0)
    b.emit("dma_copy", out, zero)
    b.emit("dma_copy", held, index)
    b.emit("dma_copy", b.gathered(out.ap([(3, 2), (1, 3)]), 3, held), source)
    assert run(b, x, np.array([[3], [1]], np.int32))[:, 1].tolist() == [0, 4, 0, 1]


def test_a_scalar_tile_moves_an_access_on_chip() -> None:
    b, x = ProgramBuilder(), numbers(4, 8)
    source, index, out = b.input((4, 8)), b.input((1, 1), "int32"), b.result((4, 2))
    tile, held, part = b.tensor((4, 8)), b.tensor((1, 1), "int32"), b.tensor((4, 2))
    b.emit("dma_copy", tile, source)
    b.emit("dma_copy", held, index)
    b.emit("tensor_copy", part, b.shifted(tile[:, 0:2], 2, by=held))
    b.emit("dma_copy", out, part)
    assert (run(b, x, np.array([[3]], np.int32)) == x[:, 6:8]).all()


@pytest.mark.parametrize(("shape", "axes"), [((6, 4), [1, 0]), ((2, 3, 4), [2, 1, 0]), ((2, 3, 4, 5), [3, 1, 2, 0])])
@pytest.mark.parametrize("given", [True, False])
def test_dma_transpose_permutes_as_its_rank_says(shape: tuple[int, ...], axes: list[int], given: bool) -> None:
    b, x = ProgramBuilder(), numbers(*shape)
    turned = x.transpose(axes)
    b.emit("dma_transpose", tile := b.tensor(turned.shape), b.input(shape), axes=axes if given else None)
    b.emit("dma_copy", b.result(turned.shape), tile)
    assert (run(b, x) == turned).all()


def test_dma_compute_adds_its_sources() -> None:
    b, x = ProgramBuilder(), numbers(3, 4)
    first, second, out = b.input((3, 4)), b.input((3, 4)), b.result((3, 4))
    b.emit("dma_compute", out, first, second, reduce_op="add", scales=[1.0, 1.0])
    assert (run(b, x, 10 * x) == 11 * x).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_a_predicated_copy_leaves_the_rest(reverse: bool) -> None:
    b, x = ProgramBuilder(), numbers(2, 6)
    mask = (numbers(2, 6) % 3 == 0).astype(np.uint8)
    source, held, tile, predicate = (
        b.input((2, 6)),
        b.input((2, 6), "uint8"),
        b.tensor((2, 6)),
        b.tensor((2, 6), "uint8"),
    )
    out, loaded = b.result((2, 6)), b.tensor((2, 6))
    b.emit("dma_copy", loaded, source)
    b.emit("dma_copy", predicate, held)
    b.emit("memset", tile, value=-1.0)
    b.emit("tensor_copy_predicated", tile, loaded, predicate, reverse_pred=reverse)
    b.emit("dma_copy", out, tile)
    assert (run(b, x, mask) == np.where((mask == 0) == reverse, x, -1)).all()


def test_a_shuffle_permutes_within_each_quadrant_and_255_keeps() -> None:
    b, x = ProgramBuilder(), numbers(64, 3)
    source, tile, moved = b.input((64, 3)), b.tensor((64, 3)), b.tensor((64, 3))
    b.emit("dma_copy", tile, source)
    b.emit("memset", moved, value=-1.0)
    mask = [255, *range(31)]
    b.emit("nc_stream_shuffle", moved, tile, shuffle_mask=mask)
    b.emit("dma_copy", b.result((64, 3)), moved)
    expected = np.concatenate([np.concatenate([np.full((1, 3), -1), x[q : q + 31]]) for q in (0, 32)])
    assert (run(b, x) == expected).all()


def test_n_gather_takes_elements_within_each_partition() -> None:
    b, x = ProgramBuilder(), numbers(4, 6)
    chosen = np.random.default_rng(0).integers(0, 6, (4, 9), np.uint32)
    data, index, out = b.tensor((4, 6)), b.tensor((4, 9), "uint32"), b.tensor((4, 9))
    b.emit("dma_copy", data, b.input((4, 6)))
    b.emit("dma_copy", index, b.input((4, 9), "uint32"))
    b.emit("nc_n_gather", out, data, index)
    b.emit("dma_copy", b.result((4, 9)), out)
    assert (run(b, x, chosen) == np.take_along_axis(x, chosen.astype(int), 1)).all()


def test_local_gather_shares_the_indices_of_sixteen_partitions() -> None:
    b, x = ProgramBuilder(), numbers(32, 40)
    chosen = (2 * np.random.default_rng(0).integers(0, 20, (32, 2))).astype(np.uint16)
    data, index, out = b.tensor((32, 40)), b.tensor((32, 2), "uint16"), b.tensor((32, 64))
    b.emit("dma_copy", data, b.input((32, 40)))
    b.emit("dma_copy", index, b.input((32, 2), "uint16"))
    b.emit("local_gather", out, data, index, num_elem_per_idx=2)
    b.emit("dma_copy", b.result((32, 64)), out)
    rows = [np.take(x[s : s + 16], chosen[s : s + 16].flatten("F")[:, None] + [0, 1], axis=1) for s in (0, 16)]
    assert (run(b, x, chosen) == np.concatenate(rows).reshape(32, 64)).all()


@pytest.mark.parametrize(
    ("dtype", "value", "held"),
    [("float32", 1, 1.0), ("int32", 7, 7), ("uint8", 300, 255), ("bfloat16", 0.1, 0.10009765625)],
)
def test_memset_stores_the_value_in_the_tiles_format(dtype: str, value: Any, held: Any) -> None:
    b = ProgramBuilder()
    out, tile = b.result((2, 3), dtype), b.tensor((2, 3), dtype)
    b.emit("memset", tile, value=value)
    b.emit("dma_copy", out, tile)
    assert (np.asarray(run(b), np.float64) == held).all()
