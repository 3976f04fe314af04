"""Which pairs of inputs get families of what they are to each other, and how many cases."""

from types import SimpleNamespace
from typing import Any, cast

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import leading
from nki_anvil.backends.worker.pointing import KINDS
from nki_anvil.lab import related_families

X = InputSpec(name="x", shape=(64, 48))
T = InputSpec(name="t", shape=(64, 48))
BIAS = InputSpec(name="bias", shape=(48,))
OTHER = InputSpec(name="other", shape=(7, 5))


def test_floats_that_may_be_labels_name_sides_of_what_has_their_shape():
    for known in ({"zero_or_one": True}, {"domain": "unit"}, {"low": 0.0, "high": 1.0}):
        label = T.model_copy(update=known)
        small, large = (list(related_families.named([X, label], [X, label], size)) for size in (False, True))
        assert {plan.only for plan in small} == {"x"}
        assert {plan.family.partition("/")[0] for plan in small} == {"named"}
        assert len(small) == 2 * len(large) > 0
        assert not list(related_families.named([BIAS, label], [BIAS, label], False))
    assert not list(related_families.named([X, T], [X, T], False))


def named_by(*shape: int, low: int = 0, high: int = 47) -> list[int]:
    label = InputSpec(name="label", shape=shape, dtype="int32", domain="integer", low=low, high=high)
    return [len(list(related_families.named([X, label], [X], large))) for large in (False, True)]


def test_integers_name_columns_where_a_sequence_has_as_many_as_rows_or_one_more_or_less():
    assert named_by(64) == named_by(64, 1) == [2 * KINDS, KINDS]
    assert named_by(65) == named_by(63, 1) == [2 * KINDS, 2 * KINDS]
    assert named_by(64, low=1, high=48) == [2 * KINDS, KINDS]
    assert named_by(64, high=48) == [2 * KINDS, KINDS]
    assert named_by(66) == named_by(64, high=49) == [0, 0]


def test_rows_of_a_square_matrix_name_their_columns():
    square = InputSpec(name="pairs", shape=(4, 64, 64))
    plans = list(related_families.named([X, square], [X, square], False))
    assert {plan.only for plan in plans} == {"pairs"}
    assert len(plans) == KINDS + 1


def test_each_input_is_next_to_nothing_beside_each_gate_and_first_beside_those_that_meet_it():
    plans = list(related_families.gated([X, OTHER, BIAS], False))
    pairs = [(plan.only, plan.family.split("/")[1]) for plan in plans]
    assert set(pairs[:4]) == {("x", "bias"), ("bias", "x")}
    assert len(set(pairs)) == 6
    assert len(plans) == related_families.GATED
    many = [InputSpec(name=name, shape=(64, 48)) for name in "abcdef"]
    assert len(list(related_families.gated(many, True))) == related_families.GATED // 2
    assert not list(related_families.gated([X], False))


def test_columns_lie_along_what_another_input_has_of_their_length_and_first_where_both_have_columns():
    heads = {"q": (64, 160), "k": (64, 160), "v": (160, 64)}
    plans = related_families.crossing(heads)
    assert [(plan.only, plan.family) for plan in plans[:2]] == [("q", "kindred/k/both/0"), ("k", "kindred/q/both/0")]
    layer = related_families.crossing({"x": (128, 64), "w": (64, 96)})
    assert [(plan.only, plan.family) for plan in layer] == [("x", "kindred/w/theirs/0")]
    decoded = related_families.crossing({"x": (4, 64), "w": (64, 96)})
    assert {(plan.only, plan.family.rpartition("/")[0]) for plan in decoded} == {("w", "kindred/x/mine")}
    assert not related_families.crossing({"x": (128, 64), "bias": (64,)})


def test_rows_are_all_alike_in_what_they_are_to_another_where_an_output_gathers_several():
    combined = [{"large": "x", "small": "bias", "how": "product", "factor": ""}]
    for axes in ((0,), (0, 1)):
        plans = list(related_families.throughout([X, T, BIAS], combined, {"x": axes}))
        assert [plan.family for plan in plans[:5]] == [f"alike/throughout/{turn}" for turn in range(5)]
        assert {plan.family for plan in plans[5:]} == {"level/throughout/bias", "near/throughout/bias"}
    for axes in ((), (1,)):
        assert not list(related_families.throughout([X, T, BIAS], combined, {"x": axes}))


def led_by(*table: int, high: int = 47, flops: int = 1) -> list[tuple[str, str]]:
    label = InputSpec(name="label", shape=(64, 1), dtype="int32", domain="integer", low=0, high=high)
    x, w = InputSpec(name="x", shape=(64, 32)), InputSpec(name="w", shape=table)
    work = SimpleNamespace(work={"default": SimpleNamespace(matmul_flops=flops)})
    every = [x, w, label]
    plans = related_families.leading(cast(Any, work), "default", every, [x, w], False)
    return [(plan.family.rpartition("/")[0], plan.only or "") for plan in plans]


def test_integers_name_rows_of_a_table_that_rows_are_multiplied_with_or_columns():
    assert led_by(48, 32) == [("leading/label/w/", "x")] * leading.LEADS
    assert led_by(50, 32) == led_by(48, 32)
    assert led_by(32, 48) == [("leading/label/w/theirs", "x")] * leading.LEADS
    lot = [("leading//w/", "x")] * (leading.LEADS // 2) + [("leading//x/", "w")] * (leading.LEADS // 2)
    assert led_by(47, 32) == lot
    assert led_by(48, 31) == led_by(48, 32, flops=0) == led_by(48, 32, 1) == []


def test_pairs_of_one_shape_are_twins_all_at_once_and_a_single_pair_is_not():
    W, V = InputSpec(name="w", shape=(48, 8)), InputSpec(name="v", shape=(48, 8))
    plans = [plan.family for plan in related_families.twins([X, W, T, V, OTHER], False)]
    assert plans == [f"twins/x:t,w:v/{turn}" for turn in range(related_families.TWINS)]
    assert not list(related_families.twins([X, T, W, OTHER], False))
    four = [InputSpec(name=name, shape=(8, 8)) for name in "abcd"]
    assert [plan.family for plan in related_families.twins(four, True)] == ["twins/a:c,b:d/0", "twins/a:b,c:d/0"]
