"""The limits follow what honest runs need, and each of them can fail alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.lab import formats, limits
from nki_anvil.lab.expected import Expected
from nki_anvil.lab.use import Use
from nki_anvil.lab.yardstick import measure
from nki_anvil.lab.yardstick_file import load, save


def expected(r: np.ndarray, *, precision: str = "float32", dtype: str = "float32", rowwise: bool = True) -> Expected:
    """Honest runs that err by one unit roundoff, up and down."""
    u = formats.UNIT_ROUNDOFF["float32"]
    honest = [[r * (1 + u)], [r * (1 - u)]]
    return measure([r], honest, [], dtypes=[dtype], precision=precision, rowwise=True, large=False).outputs[0]


@pytest.fixture
def r() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((256, 640))


def broken(use: list[Use]) -> set[str]:
    return {one.limit for one in use if one.share > 1}


def test_the_honest_result_uses_little_of_every_limit(r: np.ndarray) -> None:
    assert limits.compare(expected(r), r.astype(np.float32), 2e-5, own=True)[0].share < 0.5


def test_one_wrong_row_is_seen_though_the_whole_output_is_within_tolerance(r: np.ndarray) -> None:
    y = r.copy()
    y[17] *= 1 + 2e-6
    found = limits.compare(expected(r), y, 2e-5, own=True)
    assert "rows along axis 1" in broken(found)
    assert "whole output" not in broken(found)
    assert found[0].index[0] == 17


def test_one_wrong_column_is_seen(r: np.ndarray) -> None:
    y = r.copy()
    y[:, 600] *= 1 + 2e-6
    assert "rows along axis 0" in broken(limits.compare(expected(r), y, 2e-5, own=True))


def test_one_wrong_element_is_seen(r: np.ndarray) -> None:
    y = r.copy()
    y[3, 5] = np.sign(r[3, 5]) * np.abs(r).min() + 1e-3
    worst = limits.compare(expected(r), y, 2e-5, own=True)
    assert "largest element" in broken(worst)


def test_small_elements_set_to_zero_are_seen() -> None:
    r = np.exp(np.random.default_rng(1).normal(0, 8, (256, 512)))
    r /= r.sum(-1, keepdims=True)
    y = np.where(r < 1e-12, 0, r)
    found = limits.compare(expected(r), y, 2e-5, own=True)
    assert broken(found) >= {"99.9 % of elements", "largest element"}
    assert "rows along axis 1" not in broken(found)


def test_what_is_exact_for_everyone_must_be_exact_but_for_its_last_bits() -> None:
    r = np.arange(64.0).reshape(2, 32)
    exact = measure([r], [[r], [r]], [], dtypes=["float32"], precision="float32", rowwise=False, large=False).outputs[0]
    assert limits.compare(exact, r, 2e-5, own=False)[0].share == 0
    assert limits.compare(exact, r * (1 + 2.0**-23), 2e-5, own=False)[0].share == 0
    assert limits.compare(exact, r + 2.0**-40, 2e-5, own=False)[0].share == np.inf, "nothing is nothing"
    assert limits.compare(exact, r * (1 + 2.0**-20), 2e-5, own=False)[0].share == np.inf
    whole = replace(exact, r=r * 2**26, dtype="int32")
    assert limits.compare(whole, whole.r + 1, 2e-5, own=False)[0].share == np.inf, "nor has an integer last bits"


def test_what_overflows_is_nobodys_fault_where_products_of_inputs_end_beyond_float32(r: np.ndarray) -> None:
    y = r.copy()
    y[1, 2] = np.inf
    assert not broken(limits.compare(replace(expected(r), brink=True), y, 2e-5, own=False))
    y[3, 4] *= 2
    assert broken(limits.compare(replace(expected(r), brink=True), y, 2e-5, own=False))


def test_a_value_that_is_not_finite_fails_whatever_else(r: np.ndarray) -> None:
    y = r.copy()
    y[1, 2] = np.nan
    found = limits.compare(expected(r), y, 2e-5, own=True)
    assert [(use.limit, use.share, use.index) for use in found] == [("finite", np.inf, (1, 2))]


def test_bfloat16_results_may_be_rounded_once_and_not_more(r: np.ndarray) -> None:
    wanted = expected(r, precision="bfloat16", dtype="bfloat16")
    once = formats.rounded(r, "bfloat16")
    assert limits.compare(wanted, once, 1e-2, own=True)[0].share < 1
    twice = formats.rounded(formats.rounded(r * (1 + 2.0**-8), "bfloat16"), "bfloat16")
    assert limits.compare(wanted, twice, 1e-2, own=True)[0].share > 1


def test_rows_of_operands_in_tfloat32_are_judged_by_what_honest_runs_err_and_not_by_that_formats_rounding(
    r: np.ndarray,
) -> None:
    u = formats.UNIT_ROUNDOFF["tfloat32"]
    honest = [[formats.rounded(r, "tfloat32")]]
    wanted = measure([r], honest, [], dtypes=["float32"], precision="tfloat32", rowwise=True, large=False).outputs[0]
    assert "rows along axis 1" not in broken(limits.compare(wanted, r * (1 + u / 4), 3e-3, own=True))
    assert "rows along axis 1" in broken(limits.compare(wanted, r * (1 + 3 * u), 3e-3, own=True))


@pytest.mark.parametrize(
    ("precision", "bits"), [("bfloat16", 8), ("float16", 11), ("tfloat32", 11), ("float8_e4m3", 4)]
)
def test_rounding_keeps_the_significands_bits(precision: str, bits: int) -> None:
    u = formats.UNIT_ROUNDOFF[precision]
    assert u == 2.0**-bits
    assert formats.rounded(np.array([1.0, 1 + 2 * u, 1 + 3.1 * u, -(1 + u)]), precision).tolist() == [
        1, 1 + 2 * u, 1 + 4 * u, -1,
    ]  # fmt: skip


def test_integers_must_be_equal_unless_honest_runs_differ() -> None:
    r = np.array([[1.0, 2, 3] * 8])
    same = measure([r], [[r]], [], dtypes=["int32"], precision="float32", rowwise=True, large=False).outputs[0]
    assert limits.compare(same, r + 1, 2e-5, own=True)[0].share == np.inf


def test_families_widen_the_tolerance_to_what_honest_runs_need_and_own_draws_do_not(r: np.ndarray) -> None:
    honest = [[r * (1 + 1e-4)]]
    wanted = measure([r], honest, [], dtypes=["float32"], precision="float32", rowwise=True, large=False).outputs[0]
    y = r * (1 + 2e-4)
    assert "whole output" in broken(limits.compare(wanted, y, 2e-5, own=True))
    assert broken(limits.compare(wanted, y, 2e-5, own=False)) == set()


@pytest.mark.parametrize("shape", [(), (5,), (300,), (4, 3), (3, 130, 600), (2, 2, 40, 20)])
def test_every_shape_has_rows_and_a_worst_place(shape: tuple[int, ...]) -> None:
    r = np.random.default_rng(2).standard_normal(shape)
    assert limits.compare(expected(r), r, 2e-5, own=True)[0].share < 0.5
    y = np.asarray(r) + 1.0
    found = limits.compare(expected(r), y, 2e-5, own=True)
    assert found[0].share > 1
    assert all(len(use.index) == len(shape) for use in found)


def test_a_yardstick_is_read_back_as_it_was_written(r: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    made = measure([r], [[r + 1e-9]], [], dtypes=["float32"], precision="float32", rowwise=True, large=False)
    save(made, path)
    back = load(path)
    assert np.array_equal(back.outputs[0].r, r)
    assert back.outputs[0].rows.keys() == made.outputs[0].rows.keys()
    assert back.admissible == made.admissible


def test_rows_that_honest_runs_err_in_have_to_be_numbers_and_those_that_they_lose_need_not(tmp_path: Path) -> None:
    r = np.ones((8, 16))
    near, lost = r.copy(), r.copy()
    near[0], lost[1] = 1.01, 3.0
    made = measure(
        [r], [[near], [lost]], [], dtypes=["float32"], precision="float32", rowwise=True, large=False, partial=True
    )
    save(made, tmp_path / "one.npz")
    judged = load(tmp_path / "one.npz").outputs[0]
    off = r.copy()
    off[0], off[1] = 1.05, np.nan
    assert broken(limits.compare(judged, off, 1.0, own=False)) == set()
    off[0] = 1.2
    assert broken(limits.compare(judged, off, 1.0, own=False)) == {"rough rows"}
    off[0, 3] = np.nan
    assert broken(limits.compare(judged, off, 1.0, own=False)) == {"finite"}


def summed(a: np.ndarray, b: np.ndarray, order: np.ndarray) -> np.ndarray:
    """A float32 product, one row of the contraction after the other, in an order."""
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in order:
        total += a[:, k, None] * b[k]
    return total.astype(np.float64)


def _disturbed(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return a.astype(np.float64) * (1 + 2.0**-24 * rng.uniform(-1, 1, a.shape))


@pytest.mark.parametrize("depth", [64, 512])
def test_a_row_that_one_element_carries_is_no_trap_for_another_order_of_summation(depth: int) -> None:
    """Honest runs agree on such an element by chance now and then; another right kernel does not have to."""
    rng = np.random.default_rng(3)
    for _ in range(24):
        a, b = (
            rng.standard_normal((160, depth)).astype(np.float32),
            rng.standard_normal((depth, 96)).astype(np.float32),
        )
        for towering in (a, b):
            count, length = towering.shape
            at = np.resize(rng.permutation(length), count)
            towering[np.arange(count), at] = 10.0 ** rng.uniform(2, 2.3, count)
        straight = np.arange(depth)
        honest = [[summed(a, b, order)] for order in (straight, straight[::-1], np.roll(straight, depth // 2))]
        exact = a.astype(np.float64) @ b.astype(np.float64)
        moved = [[_disturbed(a, rng) @ _disturbed(b, rng)] for _ in range(2)]
        known = measure([exact], honest, moved, dtypes=["float32"], precision="float32", rowwise=False, large=False)
        other = summed(a, b, rng.permutation(depth))
        assert limits.compare(known.outputs[0], other, 2e-5, own=False)[0].share < 0.9


def test_a_row_that_one_element_carries_still_shows_a_bfloat16_operand() -> None:
    r = np.ones((64, 64))
    r[5, 7] = 1e4
    y = r.copy()
    y[5, 7] *= 1 + 2.0**-18
    assert "rows along axis 1" in broken(limits.compare(expected(r), y, 2e-5, own=True))


def _shared(r: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One factor per row, as a norm or a sum gives it, within the engine's error of a square root and a division."""
    noise = 2.0**-22 * (rng.uniform(-1, 1, (len(r), 1)) + rng.uniform(-1, 1, (len(r), 1)))
    return r * (1 + noise)


def test_a_factor_that_a_row_shares_is_no_trap_where_honest_runs_got_it_right_by_chance() -> None:
    """Of so many rows, the three noisy honest runs are all close to exact in some."""
    rng = np.random.default_rng(11)
    r = rng.standard_normal((4096, 32))
    honest = [[r], *([_shared(r, rng)] for _ in range(3))]
    known = measure([r], honest, [], dtypes=["float32"], precision="float32", rowwise=True, large=False).outputs[0]
    worst = max(limits.compare(known, _shared(r, rng), 2e-5, own=True)[0].share for _ in range(10))
    assert worst < 0.9
    assert "rows along axis 1" in broken(limits.compare(known, r * (1 + 2e-6), 2e-5, own=True))


def _gated(a: np.ndarray, b: np.ndarray, by: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Rows that hang on the exponential of one sum in float32 each, as where a gate saturates."""
    return np.exp(summed(a, b, order)) * by


def test_a_row_that_hangs_on_an_exponential_is_no_trap_for_another_order_of_summation() -> None:
    """The argument's absolute error is the whole row's relative one, far above that of rows whose gate is open."""
    rng = np.random.default_rng(5)
    depth, by = 96, rng.standard_normal((1, 64))
    straight = np.arange(depth)
    worst = 0.0
    for _ in range(30):
        a = (rng.standard_normal((160, depth)) * rng.choice([0.05, 1.0], (160, 1), p=[0.8, 0.2])).astype(np.float32)
        b = (rng.standard_normal((depth, 1)) - 0.5).astype(np.float32)
        honest = [[_gated(a, b, by, order)] for order in (straight, straight[::-1], np.roll(straight, depth // 2))]
        exact = np.exp(a.astype(np.float64) @ b.astype(np.float64)) * by
        moved = [[np.exp(_disturbed(a, rng) @ _disturbed(b, rng)) * by] for _ in range(2)]
        known = measure([exact], honest, moved, dtypes=["float32"], precision="float32", rowwise=False, large=False)
        other = _gated(a, b, by, rng.permutation(depth))
        uses = limits.compare(known.outputs[0], other, 2e-5, own=False)
        worst = max(worst, *(use.share for use in uses if use.limit.startswith("rows")))
    assert worst < 0.9


def _hidden(x: np.ndarray, gate: np.ndarray, up: np.ndarray, down: np.ndarray, rng: np.random.Generator | None) -> Any:
    """A gated layer: exact without lots, else in float32 with every sum in another order."""
    if rng is None:
        x, gate, up, down = (a.astype(np.float64) for a in (x, gate, up, down))
        open_, through = x @ gate, x @ up
        return (open_ / (1 + np.exp(-open_)) * through) @ down
    first, second = rng.permutation(x.shape[1]), rng.permutation(len(down))
    open_, through = (summed(x, by, first).astype(np.float32) for by in (gate, up))
    return summed(open_ / (1 + np.exp(-open_)) * through, down, second)


def test_rows_that_hang_on_one_hidden_number_each_are_no_trap_where_honest_runs_were_lucky_in_some() -> None:
    """One weight towers, so that one hidden element carries every row's error: a row in which no run shows it is one of
    those all the same.
    """
    rng = np.random.default_rng(7)
    worst = 0.0
    for _ in range(12):
        x, gate, up, down = (
            rng.standard_normal(s).astype(np.float32) for s in ((160, 96), (96, 128), (96, 128), (128, 96))
        )
        up[rng.integers(96), rng.integers(128)] = 10.0 ** rng.uniform(3, 4)
        honest = [[_hidden(x, gate, up, down, rng)] for _ in range(4)]
        exact = _hidden(x, gate, up, down, None)
        known = measure([exact], honest, [], dtypes=["float32"], precision="float32", rowwise=False, large=False)
        for _ in range(3):
            uses = limits.compare(known.outputs[0], _hidden(x, gate, up, down, rng), 2e-5, own=False)
            worst = max(worst, uses[0].share)
        assert broken(limits.compare(known.outputs[0], exact * (1 + 2e-4), 2e-5, own=False))
    assert worst < 0.9


@pytest.mark.parametrize("steepness", [1.0, 0.3])
def test_rows_behind_closed_gates_are_no_trap_where_honest_runs_were_lucky_in_some(steepness: float) -> None:
    """Few hidden elements are left of a row, others than in the next, with an error of their gates' arguments."""
    rng = np.random.default_rng(8)
    worst = 0.0
    for _ in range(20):
        x, gate, up, down = (
            rng.standard_normal(s).astype(np.float32) for s in ((160, 96), (96, 128), (96, 128), (128, 96))
        )
        gate = gate * np.float32(steepness) + np.float32(4)
        honest = [[_hidden(x, gate, up, down, rng)] for _ in range(4)]
        exact = _hidden(x, gate, up, down, None)
        known = measure([exact], honest, [], dtypes=["float32"], precision="float32", rowwise=False, large=False)
        for _ in range(3):
            uses = limits.compare(known.outputs[0], _hidden(x, gate, up, down, rng), 2e-5, own=False)
            worst = max(worst, *(use.share for use in uses if use.limit == "rows along axis 1"))
        assert broken(limits.compare(known.outputs[0], exact * (1 + 1e-3), 2e-5, own=False))
    assert worst < 0.9


@pytest.mark.parametrize(("amplified", "refused"), [(0, True), (2, False)])
def test_of_few_rows_a_share_tells_that_hidden_numbers_amplify_all(amplified: int, refused: bool) -> None:
    """One row of eight errs seven times what few honest runs show there, as one weight of attention makes it."""
    rng = np.random.default_rng(9)
    exact = rng.standard_normal((8, 64))
    of_rows = np.where(np.arange(8) < amplified, 4.0, 1.0)[:, None] * 2e-7 * rng.standard_normal((8, 64))
    honest = [[(exact + lot * of_rows).astype(np.float32)] for lot in (1.0, -0.9, 0.8, -0.7)]
    known = measure([exact], honest, [], dtypes=["float32"], precision="float32", rowwise=False, large=False)
    of_rows[5] *= 7
    uses = limits.compare(known.outputs[0], exact + of_rows, 2e-5, own=False)
    assert ("rows along axis 1" in broken(uses)) == refused


def test_a_function_cut_off_far_below_an_outputs_largest_element_is_no_error() -> None:
    r = np.zeros((64, 64))
    r[0], y = 1e12, np.zeros((64, 64))
    y[0], y[5] = 1e12, -1e-30
    assert limits.compare(expected(r), y, 2e-5, own=False)[0].share < 1
    y[5] = -1e-15
    assert limits.compare(expected(r), y, 2e-5, own=False)[0].share > 1


@pytest.mark.parametrize(("size", "refused"), [(1e-38, False), (1e-34, True)])
def test_an_output_all_of_which_is_far_below_one_is_nothing(r: np.ndarray, size: float, refused: bool) -> None:
    assert bool(broken(limits.compare(expected(r * size), np.zeros_like(r), 2e-5, own=False))) == refused


def test_a_row_whose_one_number_is_off_lends_its_error_to_the_columns_that_it_stands_in() -> None:
    u = formats.UNIT_ROUNDOFF["float32"]
    calm = np.full((256, 640), 1e-3)
    calm[9, ::80] = 3.0
    errors = u * calm
    errors[9, ::80] = 300 * u
    errors[9, 80] = 0.0
    (mixed,) = measure(
        [calm], [[calm + errors]], [], dtypes=["float32"], precision="float32", rowwise=True, large=False
    ).outputs
    y = calm.copy()
    y[9] *= 1 + 60 * u
    by_columns = [use.share for use in limits.compare(mixed, y, 2e-5, own=False) if "axis 0" in use.limit]
    assert by_columns[0] < 1, "the honest run was lucky in one column"
    y[10] *= 1 + 60 * u
    assert "rows along axis 1" in broken(limits.compare(mixed, y, 2e-5, own=False))


def test_a_tile_may_err_as_much_as_the_one_row_in_it_that_an_exponential_amplifies() -> None:
    u = formats.UNIT_ROUNDOFF["float32"]
    calm = np.ones((256, 64))
    errors = np.full_like(calm, u)
    errors[9] = 300 * u
    (mixed,) = measure(
        [calm], [[calm + errors]], [], dtypes=["float32"], precision="float32", rowwise=False, large=False
    ).outputs
    y = calm.copy()
    y[9] *= 1 + 10 * 300 * u
    assert not broken(limits.compare(mixed, y, 2e-4, own=False))
    y[10] *= 1 + 10 * 300 * u
    assert "rows along axis 1" in broken(limits.compare(mixed, y, 2e-4, own=False))


def stored(values: np.ndarray) -> np.ndarray:
    return values.astype(ml_dtypes.bfloat16).astype(np.float64)


def test_a_scale_that_drowns_in_the_rounding_of_each_element_is_seen_in_all_of_them(r: np.ndarray) -> None:
    u = formats.UNIT_ROUNDOFF["float32"]
    honest = [[stored(r * (1 + u))], [stored(r * (1 - u))]]
    [known] = measure([r], honest, [], dtypes=["bfloat16"], precision="float32", rowwise=True, large=False).outputs
    assert "leaning of the whole output" in broken(limits.compare(known, stored(r * (1 + 1 / 1536)), 1e-2, own=True))
    one_tile = np.array(r)
    one_tile[128:, 512:] *= 1 + 1 / 1536
    found = limits.compare(known, stored(one_tile), 1e-2, own=True)
    assert broken(found) == {"leaning of a tile", "numbers stored otherwise"}
    assert found[0].index[0] >= 128
    assert found[0].index[1] >= 512
    assert not broken(limits.compare(known, stored(r * (1 + 2 * u)), 1e-2, own=True))
    either_way = 1 + np.random.default_rng(2).uniform(-1, 1, r.shape) / 1536
    assert broken(limits.compare(known, stored(r * either_way), 1e-2, own=True)) == {"numbers stored otherwise"}


def test_what_is_rounded_twice_on_its_way_to_a_narrow_format_is_seen_and_an_honest_rounding_is_free(
    r: np.ndarray,
) -> None:
    u = formats.UNIT_ROUNDOFF["float32"]

    def narrow(values: np.ndarray) -> np.ndarray:
        return values.astype(ml_dtypes.float8_e4m3).astype(np.float64)

    honest = [[narrow(r * (1 + 4 * u))], [narrow(r * (1 - 4 * u))]]
    [known] = measure([r], honest, [], dtypes=["float8_e4m3"], precision="float32", rowwise=True, large=False).outputs
    assert not broken(limits.compare(known, narrow(r * (1 + 2 * u)), 5e-2, own=True))
    assert broken(limits.compare(known, narrow(stored(r)), 5e-2, own=True)) == {"numbers stored otherwise"}


def test_a_single_tower_that_honest_runs_round_either_way_leans_to_no_side() -> None:
    r = np.random.default_rng(1).standard_normal((32, 640))
    r[3, 5] = 1e6 * (1 + 2.0**-8)
    u = formats.UNIT_ROUNDOFF["float32"]
    honest = [[stored(r * (1 + 8 * u))], [stored(r * (1 - 8 * u))]]
    [known] = measure([r], honest, [], dtypes=["bfloat16"], precision="float32", rowwise=True, large=False).outputs
    for side in (1, -1):
        assert not broken(limits.compare(known, stored(r * (1 + side * 8 * u)), 1e-2, own=True))


def test_one_element_of_a_small_output_in_which_all_honest_runs_were_lucky_refuses_nothing() -> None:
    u = formats.UNIT_ROUNDOFF["float32"]
    r = np.random.default_rng(3).standard_normal((8, 64)) + 4.0
    errors = np.full(r.shape, 30 * u)
    errors[2, 5] = errors[6, 7] = 0.0
    [known] = measure(
        [r], [[r + errors]], [], dtypes=["float32"], precision="float32", rowwise=True, large=False
    ).outputs
    y = r.copy()
    y[2, 5] *= 1 + 30 * u
    assert not broken(limits.compare(known, y, 2e-5, own=False))
    y[6, 7] *= 1 + 30 * u
    assert broken(limits.compare(known, y, 2e-5, own=False)) == {"99.9 % of elements"}


def test_rows_of_which_few_numbers_lie_between_two_of_a_format_may_have_more_of_them_rounded_up_by_lot() -> None:
    rng = np.random.default_rng(11)
    r = formats.rounded(rng.standard_normal((128, 256)), "bfloat16").astype(np.float64) * (
        1 + 2e-4 * rng.random((128, 256))
    )

    def stored() -> np.ndarray:
        return formats.rounded(formats.by_lot(r, "bfloat16", rng), "bfloat16")

    known = measure(
        [r], [[stored()] for _ in range(3)], [], dtypes=["bfloat16"], precision="bfloat16", rowwise=True, large=False,
        by_lot=True,
    ).outputs[0]  # fmt: skip
    assert not any(broken(limits.compare(known, stored(), 1.0, own=True)) for _ in range(20))
    coin = np.where(rng.random(r.shape) < 0.5, r - formats.apart(r, "bfloat16"), r + formats.apart(r, "bfloat16"))
    assert broken(limits.compare(known, formats.rounded(coin, "bfloat16"), 1.0, own=True))


def test_what_is_rounded_by_lot_may_not_lean_either() -> None:
    rng = np.random.default_rng(7)
    r = rng.standard_normal((128, 256))

    def stored(lean: float) -> np.ndarray:
        leaned = r + lean * np.sign(r) * formats.apart(r, "bfloat16")
        return formats.rounded(formats.by_lot(leaned, "bfloat16", rng), "bfloat16")

    known = measure(
        [r], [[stored(0)] for _ in range(5)], [], dtypes=["bfloat16"], precision="float32", rowwise=True, large=False,
        by_lot=True,
    ).outputs[0]  # fmt: skip
    assert not broken(limits.compare(known, stored(0), 1.0, own=True))
    assert limits.compare(known, stored(-0.25), 1.0, own=True)[0].limit.startswith("leaning")
