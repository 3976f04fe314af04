"""Partial sums come out alike in every order, but for rounding."""

import numpy as np
import pytest

from nki_anvil.lab.arithmetic import Arithmetic, computing
from nki_anvil.lab.partial_sums import partial_sums
from nki_anvil.lab.values import value


@pytest.mark.parametrize("order", ["plain", "sequential", "reversed", "slabs"])
@pytest.mark.parametrize(("shape", "axis"), [((3, 300), 1), ((300, 2), 0), ((2, 5, 3), 1), ((1,), 0), ((4, 0), 1)])
def test_every_order_gives_the_same_partial_sums_of_whole_numbers(
    order: str, shape: tuple[int, ...], axis: int
) -> None:
    x = np.random.default_rng(1).integers(-9, 9, shape).astype(np.float32)
    assert np.array_equal(partial_sums(x, axis, order, 128), np.cumsum(x, axis=axis))


def test_orders_round_differently() -> None:
    x = np.random.default_rng(1).standard_normal((4, 1000)).astype(np.float32)
    found = [partial_sums(x, 1, order, 128) for order in ("sequential", "reversed", "slabs")]
    exact = np.cumsum(x.astype(np.float64), axis=1)
    assert not any(np.array_equal(found[i], found[i - 1]) for i in range(3))
    assert all(np.abs(f - exact).max() < 1e-4 for f in found)


def test_a_reference_s_running_sums_follow_the_order_in_force_however_they_are_written() -> None:
    x = np.random.default_rng(1).standard_normal((4, 1000)).astype(np.float32)
    how = Arithmetic(order="slabs")
    with computing(how):
        given = value(x, how)
        found = [np.cumsum(given, axis=1), given.cumsum(1), np.add.accumulate(given, axis=1)]
        whole, marks = np.cumsum(given), np.cumsum(given > 0, axis=1)
    assert all(np.array_equal(f, partial_sums(x, 1, "slabs", 128)) for f in found)
    assert whole.shape == (4000,)
    assert np.array_equal(marks, np.cumsum(x > 0, axis=1))


def test_a_run_in_a_wider_format_is_off_in_every_partial_sum() -> None:
    x = np.random.default_rng(1).standard_normal((4, 100))
    how = Arithmetic(np.float64, rng=np.random.default_rng(2), rounding=2.0**-24)
    with computing(how):
        found = np.asarray(np.cumsum(value(x, how), axis=1))
    off = np.abs(found / np.cumsum(x, axis=1) - 1)
    assert 0 < off.max() <= 2.0**-24
