"""Views of tensors: which elements they see, and which views the machine does not have."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.sim import isa as nisa
from nki_anvil.sim import language as nl
from nki_anvil.sim.builder import LIVE, Builder
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.register import VirtualRegister, numbered

BLOCK = np.arange(4 * 6 * 8)


@pytest.fixture(autouse=True)
def live():
    token = LIVE.set(Builder("trn2", "0.7", __file__))
    yield LIVE.get()
    LIVE.reset(token)


@pytest.fixture
def tile():
    return nl.ndarray((4, 6, 8), nl.float32)


@pytest.fixture
def hbm():
    return nl.ndarray((4, 6, 8), nl.float32, nl.shared_hbm)


def seen(view, block=BLOCK):
    """The numbers of the elements that a view walks, over a block numbered in order."""
    steps = [step * block.itemsize for step in view.strides]
    return np.lib.stride_tricks.as_strided(block[view.offset :], view.shape, steps)


NUMBERED = BLOCK.reshape(4, 6, 8)


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (lambda t: t[1:3, :, 2:8:3], NUMBERED[1:3, :, 2:8:3]),
        (lambda t: t[..., -1], NUMBERED[..., -1]),
        (lambda t: t[2], NUMBERED[2:3]),
        (lambda t: t[:, nl.ds(1, 2), 3], NUMBERED[:, 1:3, 3]),
        (lambda t: t.slice(1, 1, 5, 2), NUMBERED[:, 1:5:2]),
        (lambda t: t.select(1, 4), NUMBERED[:, 4]),
        (lambda t: t.permute((0, 2, 1)), NUMBERED.transpose(0, 2, 1)),
        (lambda t: t.reshape((4, 48)), NUMBERED.reshape(4, 48)),
        (lambda t: t.reshape((4, 2, -1)), NUMBERED.reshape(4, 2, 24)),
        (lambda t: t.reshape_dim(1, (2, -1)), NUMBERED.reshape(4, 2, 3, 8)),
        (lambda t: t.flatten_dims(1, 2), NUMBERED.reshape(4, 48)),
        (lambda t: t.expand_dim(1).broadcast(1, 5), np.broadcast_to(NUMBERED[:, None], (4, 5, 6, 8))),
        (lambda t: t.expand_dim(2).squeeze_dim(2), NUMBERED),
        (
            lambda t: t.rearrange(("p", ("a", "b"), "c"), ("p", "b", "c", "a"), {"a": 2}),
            NUMBERED.reshape(4, 2, 3, 8).transpose(0, 2, 3, 1),
        ),
        (lambda t: t.ap([[48, 4], [1, 7], [8, 2]], offset=3), None),
    ],
)
def test_a_view_sees_the_elements_that_numpy_sees(tile, view, expected):
    if expected is None:
        expected = np.lib.stride_tricks.as_strided(BLOCK[3:], (4, 7, 2), (48 * 8, 8, 64))
    assert np.array_equal(seen(view(tile)), expected)


def test_an_integer_keeps_the_partitions_on_chip_and_drops_the_dimension_in_hbm(tile, hbm):
    assert tile[2].shape == (1, 6, 8)
    assert tile[:, 1, 2].shape == (4, 1)
    assert hbm[2].shape == (6, 8)
    assert hbm[2, 1, 3].shape == (1,)


def test_bytes_can_be_read_as_another_dtype(tile):
    halves = tile[:, :, 2:4].view(nl.bfloat16)
    assert (halves.shape, halves.strides, halves.offset) == ((4, 6, 4), (96, 16, 1), 4)
    assert halves.view(nl.float32).offset == 2


def test_an_explicit_pattern_counts_from_the_view_and_in_its_own_dtype(tile):
    assert tile[:, 1:].ap([[48, 4], [1, 3]]).offset == 8
    assert tile[:, 1:].ap([[96, 4], [1, 3]], offset=1, dtype=nl.bfloat16).offset == 17


@pytest.mark.parametrize(
    "view",
    [
        lambda t, i: t[:, 1:].ap([[3, 4], [1, 2]], dtype=nl.float32),
        lambda t, i: t.ap([[3, 4], [1, 2]], dtype=nl.float32, scalar_offset=i, indirect_dim=1),
    ],
)
def test_a_pattern_in_a_wider_dtype_begins_and_steps_by_whole_elements_of_it(view):
    tile, index = nl.ndarray((4, 6), nl.bfloat16), nl.ndarray((1, 1), nl.int32)
    with pytest.raises(TraceError, match="does not divide") as caught:
        view(tile, index)
    assert caught.value.code == "NKI-SHAPE"


def test_rows_that_an_index_tile_counts_in_a_wider_dtype_are_whole_elements_of_it():
    source, index = nl.ndarray((4, 7), nl.bfloat16, nl.shared_hbm), nl.ndarray((4, 1), nl.uint32)
    with pytest.raises(TraceError, match="does not divide"):
        source.ap([[3, 4], [1, 3]], dtype=nl.float32, vector_offset=index)


@pytest.mark.parametrize(
    ("view", "code"),
    [
        (lambda t: t[0:5], "NKI-BOUNDS"),
        (lambda t: t[:, 6], "NKI-BOUNDS"),
        (lambda t: t[:, 7:7], "NKI-BOUNDS"),
        (lambda t: t[:, 3:2], "NKI-BOUNDS"),
        (lambda t: t[:, nl.ds(4, 3)], "NKI-BOUNDS"),
        (lambda t: t[:, ::-1], "NKI-BOUNDS"),
        (lambda t: t[0, 0, 0, 0], "NKI-RANK"),
        (lambda t: t[None], "NKI-TYPE"),
        (lambda t: t[1.0], "NKI-TYPE"),
        (lambda t: t[:, t], "NKI-TYPE"),
        (lambda t: t.permute((1, 0, 2)), "NKI-LAYOUT"),
        (lambda t: t.reshape((24, 8)), "NKI-LAYOUT"),
        (lambda t: t.permute((0, 2, 1)).reshape((4, 48)), "NKI-LAYOUT"),
        (lambda t: t.reshape((4, 47)), "NKI-SHAPE"),
        (lambda t: t.broadcast(1, 12), "NKI-SHAPE"),
        (lambda t: t.ap([[47, 4], [1, 4]]), "NKI-LAYOUT"),
        (lambda t: t[:, :, 0:3].view(nl.bfloat16).view(nl.float32)[:, :, 3], "NKI-BOUNDS"),
        (lambda t: t[:, :, 1:2].view(nl.uint8)[:, :, 1:2].view(nl.float32), "NKI-SHAPE"),
        (lambda t: t.view("float64"), "NKI-DTYPE"),
        (lambda t: t.vector_select(0, t), "NKI-INDIRECT"),
        (iter, "NKI-CONTROL"),
        (len, "NKI-CONTROL"),
        (lambda t: t[0, 0] == 0, "NKI-CONTROL"),
        (lambda t: t != np.float32(0.5), "NKI-CONTROL"),
        (lambda t: t > t, "NKI-CONTROL"),
        (lambda t: t <= 1, "NKI-CONTROL"),
    ],
)
def test_a_view_that_cannot_be_is_refused(tile, view, code):
    with pytest.raises(TraceError) as error:
        view(tile)
    assert error.value.code == code
    assert error.value.remedy


def test_a_tensor_is_not_none_and_none_asks_whether_it_is_another(tile):
    assert tile != None  # noqa: E711
    assert tile not in (None, "mean")
    for ask in (lambda: tile == tile[0:2], lambda: tile in (None, tile[0:2]), lambda: [tile[0:2]].index(tile)):
        with pytest.raises(TraceError, match="compared"):
            ask()
    with pytest.raises(TraceError, match="made a key"):
        dict.fromkeys([tile])


@pytest.mark.parametrize(
    "pattern",
    [
        ([[48, 4], [1, 49]], 0),
        ([[48, 4], [1, 48]], 1),
        ([[48, 5], [1, 48]], 0),
        ([[48, 4], [-1, 2]], 4),
        ([[48, 4], [1, 1]], -1),
    ],
)
def test_a_pattern_outside_is_refused_by_the_instruction_that_it_is_given_to(tile, pattern):
    outside = tile.ap(*pattern)
    with pytest.raises(TraceError) as error:
        nisa.memset(outside, 0)
    assert error.value.code == "NKI-BOUNDS"
    with pytest.raises(TraceError):
        nisa.memset(outside[:, :], 0)
    nisa.memset(tile.ap([[48, 4], [12, 4]], 11), 0)


def test_a_dynamic_select_becomes_a_scalar_offset_of_the_access(live, hbm):
    index = nl.ndarray((1, 1), nl.int32)
    view = hbm.select(0, index)
    assert view.shape == (6, 8)
    assert view.indirection.scalar_access == live.access(index)
    assert view.indirection.scalar_step == 48
    with pytest.raises(TraceError, match="two dynamic offsets"):
        view.select(0, index)


@pytest.mark.parametrize("by", ["a tile", "a register"])
def test_a_pattern_on_chip_is_moved_along_a_free_dimension_alone(live, hbm, by):
    offset = nl.ndarray((1, 1), nl.int32) if by == "a tile" else numbered(VirtualRegister, 3)
    tile = nl.ndarray((4, 48), nl.float32)
    along = tile.ap([[48, 4], [1, 8]], scalar_offset=offset, indirect_dim=1).indirection
    assert along is not None
    assert along.scalar_step == 1
    assert hbm.ap([[48, 1], [1, 48]], scalar_offset=offset, indirect_dim=0).indirection.scalar_step == 48
    for first in (0, -2):
        with pytest.raises(TraceError, match=r"NKI-INDIRECT.*over its partitions.*indirect_dim= of a free dimension"):
            tile.ap([[48, 1], [1, 48]], scalar_offset=offset, indirect_dim=first)


PARTS = [
    pytest.param(lambda t: t[:, 0:4], id="columns"),
    pytest.param(lambda t: t[:, ::2], id="every second plane"),
    pytest.param(lambda t: t[0:1], id="the first"),
    pytest.param(lambda t: t[0], id="a matrix"),
]


@pytest.mark.parametrize("by", ["scalar_offset", "vector_offset"])
@pytest.mark.parametrize("part", PARTS)
def test_before_views_an_offset_by_data_is_that_of_the_tensor_itself(part, by):
    LIVE.set(Builder("trn2", "0.4", __file__))
    whole = nl.ndarray((4, 6, 8), nl.float32, nl.shared_hbm)
    at: dict[str, Any] = {by: nl.ndarray((1, 1), nl.int32)}
    for same in (whole, whole[0:4, :], whole.reshape((24, 8)), whole.view(nl.int32)):
        assert same.ap([[8, 1], [1, 8]], **at).indirection is not None
    with pytest.raises(TraceError, match=r"NKI-INDEXING.*counts in the tensor.*2 \* i"):
        part(whole).ap([[8, 1], [1, 8]], **at)


@pytest.mark.parametrize("part", PARTS)
def test_with_views_an_offset_by_data_is_that_of_the_view(hbm, part):
    view = part(hbm)
    moved = view.ap([[8, 1], [1, 8]], scalar_offset=nl.ndarray((1, 1), nl.int32))
    assert moved.indirection.scalar_step == view.strides[0]


def test_rows_are_gathered_in_the_tensors_own_dtype(hbm):
    rows = nl.ndarray((2, 1), nl.int32)
    assert hbm.view(nl.float32).vector_select(0, rows).shape == (2, 6, 8)
    with pytest.raises(TraceError, match=r"NKI-INDIRECT.*a view of float32"):
        hbm.view(nl.int32).vector_select(0, rows)


def test_a_register_as_an_index_becomes_a_register_offset(hbm):
    view = hbm[numbered(VirtualRegister, 3), :, nl.ds(2, 4)]
    assert view.shape == (6, 4)
    assert view.offset == 2
    assert (view.indirection.scalar_register, view.indirection.scalar_step) == (3, 48)


def test_a_vector_of_rows_fixes_the_first_dimension(live, hbm):
    rows = nl.ndarray((3, 1), nl.int32)
    view = hbm.vector_select(0, rows)
    assert view.shape == (3, 6, 8)
    assert view.indirection.vector_step == 48
    for refused in (lambda: view[0:2], lambda: view.permute((1, 0, 2))):
        with pytest.raises(TraceError):
            refused()


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(lambda t: t[::2], id="every second row"),
        pytest.param(lambda t: t[1, ::3], id="every third row of a part"),
        pytest.param(lambda t: t.permute((2, 1, 0)), id="turned"),
        pytest.param(lambda t: t[:, 0].permute((1, 0)), id="turned, of a part"),
    ],
)
def test_an_index_tile_takes_no_rows_of_a_view_that_are_none_in_memory(live, hbm, of):
    rows, view = nl.ndarray((3, 1), nl.int32), of(hbm)
    for refused in (lambda: view.vector_select(0, rows), lambda: view.ap([[1, 3], [1, 1]], vector_offset=rows)):
        with pytest.raises(TraceError) as error:
            refused()
        assert error.value.code == "NKI-INDIRECT"


@pytest.mark.parametrize(
    "of", [lambda t: t[1:3], lambda t: t[:, 2], lambda t: t[:, :, ::2], lambda t: t.reshape((24, 8)), lambda t: t[2]]
)
def test_an_index_tile_takes_rows_of_parts_and_of_other_shapes(live, hbm, of):
    rows, view = nl.ndarray((3, 1), nl.int32), of(hbm)
    assert view.vector_select(0, rows).indirection.vector_step == view.strides[0]


@pytest.mark.parametrize("use", [bool, int, iter, lambda r: range(r), lambda r: r < 3, lambda r: r == 0])
def test_a_register_cannot_be_read_in_python(use):
    with pytest.raises(TraceError) as error:
        use(numbered(VirtualRegister, 0))
    assert error.value.code == "NKI-CONTROL"


def test_a_dtype_is_a_string_that_numpy_knows_and_has_no_size():
    assert nl.float32 == "float32" == nl.float32
    assert np.dtype("int8") == nl.int8
    assert nl.float32 != nl.bfloat16
    assert np.zeros(2, dtype=nl.bfloat16).dtype == nl.bfloat16
    assert len({nl.float32, "float32"}) == 1
    assert not hasattr(nl.float32, "itemsize")


@pytest.mark.parametrize("other", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_a_dtype_is_not_compared_with_numpys_types(other):
    for ask in (lambda: nl.float32 == other, lambda: nl.float32 != other, lambda: nl.float32 in (other,)):
        with pytest.raises(TraceError, match=r"NKI-DTYPE.*is a string, and.*nl\.float32"):
            ask()


def test_a_tensor_as_a_condition_says_that_it_is_there(tile, hbm):
    bias = None
    assert [name for name, one in (("tile", tile), ("hbm", hbm), ("bias", bias)) if one] == ["tile", "hbm"]


def test_a_slice_of_nothing_is_a_view_that_no_instruction_takes(tile, hbm):
    assert tile[:, 3:3].shape == (4, 0, 8)
    assert hbm[nl.ds(4, 0)].shape == (0, 6, 8)
    with pytest.raises(TraceError, match=r"NKI-SHAPE.*\(4, 0, 8\).*is empty.*Leave the instruction out"):
        nisa.memset(tile[:, 3:3], 1.0)


def test_slices_are_not_compared_with_one_another():
    with pytest.raises(TraceError, match=r"A slice of nl\.ds is compared"):
        _ = nl.ds(0, 4) == nl.ds(0, 4)
    assert nl.ds(0, 4) not in (None, None)
