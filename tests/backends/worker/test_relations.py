"""Inputs are to each other what the families of relations say: alone, alike, opposite, large where another is small."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, relations

FOUR = [{"name": name, "shape": [192, 640], "dtype": "float32"} for name in ("theta", "grad", "m", "v")]
PRODUCT = [
    {"name": "a", "shape": [160, 192], "dtype": "float32"},
    {"name": "b", "shape": [192, 64], "dtype": "float32"},
]
FAMILIES = ["lone/0", "lone/1", "alike", "opposed/192", "opposed", "opposed//tiles", "faint", "faint/whole"]


def drawn(arguments: list[dict[str, Any]], family: str, only: str | None = None, seed: int = 1) -> dict[str, Any]:
    return inputs.draw({"inputs": arguments}, {"seed": seed, "family": family, "only": only})


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", [[320, 96], [2, 160, 64], [7, 5], [1, 1], [1280], [64, 1, 3]], ids=str)
def test_inputs_of_any_shape_have_relations(family: str, shape: list[int]) -> None:
    pair = drawn([{"name": name, "shape": shape, "dtype": "float32"} for name in "ab"], family, "a")
    assert all(x.shape == tuple(shape) and np.isfinite(x).all() for x in pair.values())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("family", "tiny"), [("lone/0", False), ("lone/1", True)])
def test_each_input_is_alone_in_a_tile_where_its_peers_are_zeros(family: str, tiny: bool, seed: int) -> None:
    four = drawn(FOUR, family, "theta", seed)
    tiles = [(rows, columns) for rows in (slice(128), slice(128, 192)) for columns in (slice(512), slice(512, 640))]
    alone = [[name for name, x in four.items() if x[tile].any()] for tile in tiles]
    assert sorted(alone) == [["grad"], ["m"], ["theta"], ["v"]]
    assert all((np.abs(x).max() < 1e-3) == tiny for x in four.values())


def test_bands_of_inputs_are_equal_or_nearly_opposite() -> None:
    x, z = drawn(FOUR[:2], "alike", "theta").values()
    equal, opposite = (x == z).all(-1), np.abs(x + z).max(-1) < 0.01 * np.abs(x).max(-1)
    assert min(equal.sum(), opposite.sum()) >= 32
    assert (~equal & ~opposite).any()
    assert not (x[opposite] == -z[opposite]).all()
    offsets = np.abs(x[opposite].mean(-1))
    assert (offsets > 5).any()
    assert (offsets < 1).any()


@pytest.mark.parametrize(
    ("small", "large", "shape"),
    [
        ([64], [160, 64], (64,)),
        ([160, 1], [160, 64], (160, 1)),
        ([160], [160, 64], (160, 1)),
        ([8], [2, 8, 5, 7], (1, 8, 1, 1)),
        ([5, 64], [2, 5, 64], (5, 64)),
        ([160, 64], [160, 64], None),
        ([1, 1], [160, 64], None),
        ([63], [160, 64], None),
        ([64, 160], [160, 64], None),
    ],
)
def test_a_vector_or_a_column_spreads_over_what_has_its_length(
    small: list[int], large: list[int], shape: tuple[int, ...] | None
) -> None:
    assert relations.spread(small, large) == shape


@pytest.mark.parametrize(("small", "spread"), [([64], (1, 64)), ([160], (160, 1)), ([40, 64], None)])
def test_rows_are_what_spreads_over_them_or_nearly_its_opposite(
    small: list[int], spread: tuple[int, int] | None
) -> None:
    inputs = [{"name": name, "shape": shape, "dtype": "float32"} for name, shape in (("x", [160, 64]), ("b", small))]
    found = drawn(inputs, "near/b", "x")
    x, other = found["x"], found["b"]
    over = np.broadcast_to(other.reshape(spread), x.shape) if spread else other[np.arange(160) % 40]
    for sign in (1, -1):
        close = np.abs(x - sign * over).max(-1) < 0.01 * np.abs(over).max(-1)
        exactly = (x == sign * over).all(-1)
        assert 0.15 < close.mean() < 0.5
        assert 0 < exactly.sum() < close.sum()


@pytest.mark.parametrize(("turn", "sign", "apart"), [(0, 1, (1e-3, 2.0)), (1, 1, (0.0, 1e-2)), (2, -1, (0.0, 1e-2))])
def test_throughout_peers_are_learnt_pairs_or_all_but_equal_or_opposite(
    turn: int, sign: int, apart: tuple[float, float]
) -> None:
    first, *others = drawn(FOUR, f"alike/throughout/{turn}", "theta").values()
    assert (first == inputs.own_draw(FOUR[0], first.shape, inputs.generator(1, 0))).all()
    for other in others:
        off = np.abs(sign * other / first - 1)
        assert (off < 0.99).mean() > 0.8
        assert apart[0] < np.median(off) < apart[1]


@pytest.mark.parametrize("shape", [[160, 64], [64, 160], [64, 64], [2, 3, 40, 8], [2, 2], [7]], ids=str)
@pytest.mark.parametrize("turn", [3, 4])
def test_learnt_pairs_may_be_of_features_that_have_nothing_to_do_with_each_other(shape: list[int], turn: int) -> None:
    arguments = [{"name": name, "shape": shape, "dtype": "float32"} for name in "ab"]
    a, b = drawn(arguments, f"alike/throughout/{turn}", "a").values()
    assert np.isfinite(a).all()
    assert np.median(np.abs(a - b)) < 0.5 * a.std()
    if len(shape) > 1 and min(shape[-2:]) > 2:
        tall = a if shape[-2] >= shape[-1] else a.swapaxes(-1, -2)
        met = tall.swapaxes(-1, -2) @ tall / tall.shape[-2]
        met = met[..., :-1, :-1] if shape[-2] == shape[-1] else met
        assert np.abs(met - np.eye(met.shape[-1]) * met.diagonal(axis1=-1, axis2=-2).mean()).max() < 1e-3
        assert np.abs(tall.mean(axis=-2)[..., :-1]).max() < 1e-3


def test_twins_are_near_each_other_and_what_has_none_stays_as_it_was() -> None:
    shapes = {"x": [40, 6], "w": [6, 9], "t": [6, 9], "v": [9, 4], "u": [9, 4]}
    specs = {"inputs": [{"name": name, "shape": shape, "dtype": "float32"} for name, shape in shapes.items()]}
    drawn = inputs.draw(specs, {"seed": 5, "family": "twins/w:t,v:u/0"})
    own = inputs.draw(specs, {"seed": 5, "family": "own"})
    low, high = relations.TWIN
    for one, other in (("w", "t"), ("v", "u")):
        apart = (drawn[other] - drawn[one]).std() / drawn[one].std()
        assert 10.0 ** (low - 0.2) < apart < 10.0 ** (high + 0.2)
    assert all(np.array_equal(drawn[name], own[name]) for name in ("x", "w", "v"))


@pytest.mark.parametrize("shape", [[64], [160, 1]])
def test_throughout_all_rows_are_nearly_what_spreads_over_them_or_all_its_opposite(shape: list[int]) -> None:
    arguments = [{"name": name, "shape": of, "dtype": "float32"} for name, of in (("x", [160, 64]), ("b", shape))]
    for seed in range(3):
        x, other = drawn(arguments, "near/throughout/b", "x", seed).values()
        over = np.broadcast_to(other, x.shape)
        assert min(np.abs(x - over).max(), np.abs(x + over).max()) < 0.02 * np.abs(over).max()


def test_throughout_all_products_are_nearly_one_value() -> None:
    x, other = drawn(FOUR[:2], "level/throughout/grad", "theta").values()
    products = (x * other)[np.abs(other) > 1e-3]
    assert np.abs(products / np.median(products) - 1).max() < 0.7
    assert np.median(np.abs(products / np.median(products) - 1)) < 0.1


def test_half_of_a_batchs_rows_are_the_same_in_all_its_matrices() -> None:
    batch = [{"name": "q", "shape": [2, 160, 64], "dtype": "float32"}]
    first, second = drawn(batch, "alike", "q")["q"]
    assert 0.3 < (first == second).all(-1).mean() < 0.7


def test_opposed_factors_are_tiny_and_large_in_turn_and_their_products_ordinary() -> None:
    for only, small in (("a", "b"), ("b", "a")):
        pair = drawn(PRODUCT, "opposed/192", only)
        sizes = {"a": np.abs(pair["a"]).max(0), "b": np.abs(pair["b"]).max(1)}
        assert sizes[small][:128].max() < 1e-2 < 1e2 < sizes[only][:128].min()
        assert sizes[only][128:].max() < 1e-2 < 1e2 < sizes[small][128:].min()
        assert 0.1 < np.median(sizes["a"] * sizes["b"]) < 100
        parts = [np.abs(pair["a"][:, part] @ pair["b"][part]).mean() for part in (slice(128), slice(128, 192))]
        assert 0.01 < parts[0] / parts[1] < 100


@pytest.mark.parametrize("length", [640, 768, 1000, 1024, 5120])
@pytest.mark.parametrize("group", [64, 128, 256, 512])
@pytest.mark.parametrize(("only", "small"), [("a", "b"), ("b", "a")])
def test_a_whole_group_of_any_size_is_tiny_in_either_factor(only: str, small: str, group: int, length: int) -> None:
    long = [{**PRODUCT[0], "shape": [8, length]}, {**PRODUCT[1], "shape": [length, 8]}]
    pair = drawn(long, f"opposed/{length}", only)
    sizes = {"a": np.abs(pair["a"]).max(0), "b": np.abs(pair["b"]).max(1)}
    assert sizes[only][(length - 1) // group * group :].max() < 1e-2
    if group <= length // 2:
        assert sizes[small][:group].max() < 1e-2


def test_tiles_are_opposed_in_place_of_halves_in_some_cases() -> None:
    long = [{**PRODUCT[0], "shape": [8, 512]}, {**PRODUCT[1], "shape": [512, 8]}]
    found = [np.abs(drawn(long, "opposed/512/tiles", "a", seed)["a"]).max(0) for seed in range(16)]
    assert {bool(sizes[128:256].max() < 1e-2) for sizes in found} == {True, False}
    assert all(sizes[384:].max() < 1e-2 < 1e2 < sizes[:128].min() for sizes in found)


def test_single_places_of_a_tile_are_opposed_as_well() -> None:
    pair = drawn(PRODUCT, "opposed/192/single", "a")
    sizes = {"a": np.abs(pair["a"]).max(0), "b": np.abs(pair["b"]).max(1)}
    assert sizes["b"][::2].max() < 1e-2 < 1e2 < sizes["a"][::2].min()
    assert sizes["a"][1::2].max() < 1e-2 < 1e2 < sizes["b"][1::2].min()


def test_what_is_added_to_the_target_goes_with_it_along_the_axis() -> None:
    beside = [{**PRODUCT[0], "name": "z"}, *PRODUCT]
    triple = drawn(beside, "opposed/192/peers", "a")
    for name in ("a", "z"):
        sizes = np.abs(triple[name]).max(0)
        assert sizes[128:].max() < 1e-2 < 1e2 < sizes[:128].min()
    sizes = np.abs(triple["b"]).max(1)
    assert sizes[:128].max() < 1e-2 < 1e2 < sizes[128:].min()


SUM = [
    {"name": name, "shape": shape, "dtype": "float32"}
    for name, shape in (("x", [160, 192]), ("w", [192, 64]), ("b", [64]), ("z", [160, 64]), ("g", [1, 64]))
]


def test_the_same_rows_of_all_terms_of_a_sum_are_tiny_small_or_zeros_and_weights_are_as_they_were() -> None:
    own, bent = drawn(SUM, "own"), drawn(SUM, "faint", "x")
    factors = {name: np.abs(bent[name]).max(-1) / np.abs(own[name]).max(-1) for name in ("x", "z")}
    assert np.allclose(factors["x"], factors["z"], rtol=1e-5)
    tiny, small, zeros = factors["x"][:32], factors["x"][32:64], factors["x"][64:96]
    assert np.allclose(tiny, 1e-15)
    assert 0.9e-6 < small.min() < 1e-4 < small.max() < 1.1e-2
    assert not zeros.any()
    assert all(np.allclose(bent[name], own[name] * 1e-15) for name in ("b", "g"))
    assert np.array_equal(bent["w"], own["w"])


def test_where_no_input_has_an_outputs_rows_all_inputs_are_faint_as_a_whole() -> None:
    own, bent = drawn(SUM, "own"), drawn(SUM, "faint/whole")
    assert all(np.allclose(bent[name], own[name] * 1e-7, rtol=1e-5, atol=0) for name in own)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_single_faint_row_is_tiny_rather_than_nothing(rows: int) -> None:
    one = drawn([{"name": name, "shape": [rows, 64], "dtype": "float32"} for name in "xz"], "faint", "x")
    assert all(0 < np.abs(values[0]).max() < 1e-13 for values in one.values())


def test_a_relation_leaves_inputs_of_another_shape_alone() -> None:
    own, bent = drawn([*FOUR, PRODUCT[0]], "own"), drawn([*FOUR, PRODUCT[0]], "lone/0", "theta")
    assert np.array_equal(own["a"], bent["a"])


def test_one_input_is_next_to_nothing_and_no_zero_while_a_gate_is_open_or_closed_throughout() -> None:
    for turn, sign in enumerate((1, -1)):
        found, own = drawn(FOUR, f"gated/m/{turn}", "v"), drawn(FOUR, "own")
        assert 0 < np.abs(found["v"][own["v"] != 0]).max() < 0.1
        assert (sign * found["m"]).min() > 15
        assert (sign * found["m"]).max() < 100
        assert np.array_equal(found["grad"], own["grad"])
    either = drawn(FOUR, f"gated/m/{relations.EITHER}", "v")["m"] > 0
    assert 0.2 < either.mean() < 0.8
    assert (either == either[:, :1]).all()


def test_a_gate_between_bounds_is_at_one_of_them() -> None:
    unit = [FOUR[0], {**FOUR[1], "domain": "unit"}]
    found = [drawn(unit, f"gated/grad/{turn}", "theta")["grad"] for turn in range(2)]
    assert [(one == wanted).all() for one, wanted in zip(found, (1, 0), strict=True)] == [True, True]


@pytest.mark.parametrize(("width", "length"), [(40, 40), (40, 56), (56, 40)])
def test_rows_of_another_input_stand_in_rows_at_every_delay_and_at_both_ends(width: int, length: int) -> None:
    rng = np.random.default_rng(0)
    own, other = rng.standard_normal((256, width)), rng.standard_normal((256, length))
    found: set[int] = set()
    for turn in range(2):
        bent = relations.delayed(own.astype(np.float32), other, np.random.default_rng(1), turn).astype(np.float64)
        for row, template in zip(bent, other, strict=True):
            alike = [
                abs(np.corrcoef(*_stretch(row, template, delay))[0, 1]) for delay in range(-length + 20, width - 19)
            ]
            if max(alike) > 0.9:
                found.add(int(np.argmax(alike)) - length + 20)
    assert {0, width - length, 20 - length, width - 20} <= found
    assert len(found) > (width + length - 40) * 0.8


def _stretch(row: np.ndarray[Any, Any], template: np.ndarray[Any, Any], delay: int) -> Any:
    """What two rows have over each other."""
    begin, end = max(0, delay), min(len(row), delay + len(template))
    return row[begin:end], template[begin - delay : end - delay]
