from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.lab.decision import decide, decide_modelled, t_cdf, t_quantile

LATENCIES = st.lists(st.tuples(st.floats(50, 150), st.floats(50, 150)), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("probability", "freedom", "value"),
    [
        (0.975, 1, 12.7062), (0.975, 2, 4.30265), (0.975, 3, 3.18245), (0.995, 2, 9.92484), (0.995, 4, 4.60409),
        (0.995, 8, 3.35539), (0.995, 13, 3.01228), (0.995, 14, 2.97684), (0.95, 30, 1.69726), (0.995, 120, 2.61742),
    ],
)  # fmt: skip
def test_the_t_quantile_is_that_of_the_printed_tables(probability: float, freedom: int, value: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(value, abs=5e-5)


@given(st.floats(0, 50), st.integers(1, 60))
def test_the_t_distribution_rises_from_one_half(t: float, freedom: int) -> None:
    assert 0.5 <= t_cdf(t, freedom) <= 1 + 1e-12
    assert t_cdf(t + 0.1, freedom) >= t_cdf(t, freedom) - 1e-12


def test_clearly_faster_is_kept_and_clearly_slower_is_reverted() -> None:
    best = [100.0, 101.0, 99.5, 100.4, 99.8]
    faster, slower = [us / 1.1 for us in best], [us * 1.1 for us in best]
    assert decide(best, faster, delta=0.005).outcome == "keep"
    assert decide(best, faster, delta=0.005).speedup == pytest.approx(1.1)
    assert decide(best, slower, delta=0.005).outcome == "revert"


def test_the_same_speed_measured_precisely_is_reverted_since_no_gain_worth_having_is_left() -> None:
    assert decide([100.0] * 5, [100.0] * 5, delta=0.005).outcome == "revert"


def test_one_round_decides_nothing_and_asks_for_more() -> None:
    decision = decide([100.0], [50.0], delta=0.005)
    assert decision.outcome == "undecided"
    assert (decision.speedup_low, decision.speedup_high) == (0.0, math.inf)


def test_a_gain_below_delta_is_not_kept() -> None:
    best, new = [100.0, 100.1, 99.9, 100.0, 100.0], [99.0, 99.1, 98.9, 99.0, 99.0]
    assert decide(best, new, delta=0.005).outcome == "keep"
    assert decide(best, new, delta=0.02).outcome == "revert"


def test_a_round_in_which_an_arm_was_held_up_is_void_and_decides_nothing_until_repeated() -> None:
    best, new = [100.0] * 4 + [120.0], [90.0] * 5
    waiting = decide(best, new, delta=0.005)
    assert (waiting.outcome, waiting.repeat, waiting.rounds) == ("undecided", (4,), 4)
    assert decide(best, new, delta=0.005, final=True).outcome == "keep"
    assert decide(best, new, delta=0.005, aa_sd=0.06).repeat == ()


def test_latencies_that_are_none_are_refused() -> None:
    for best, new in (([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([math.nan], [1.0])):
        with pytest.raises(ValueError):
            decide(best, new, delta=0.005)


@given(LATENCIES)
def test_the_interval_holds_the_speedup_and_exchanging_the_arms_inverts_it(rounds: list[tuple[float, float]]) -> None:
    best, new = [b for b, _ in rounds], [n for _, n in rounds]
    forth, back = decide(best, new, delta=0.005, final=True), decide(new, best, delta=0.005, final=True)
    assert forth.speedup_low <= forth.speedup * (1 + 1e-12)
    assert forth.speedup <= forth.speedup_high * (1 + 1e-12)
    assert forth.speedup * back.speedup == pytest.approx(1)
    assert forth.repeat == back.repeat
    assert not (forth.outcome == "keep" == back.outcome)


@given(LATENCIES, st.floats(0.1, 10))
def test_units_do_not_matter(rounds: list[tuple[float, float]], unit: float) -> None:
    best, new = [b for b, _ in rounds], [n for _, n in rounds]
    scaled = decide([b * unit for b in best], [n * unit for n in new], delta=0.005, final=True)
    assert scaled.speedup == pytest.approx(decide(best, new, delta=0.005, final=True).speedup)


def test_modelled_latencies_are_decided_by_the_models_resolution() -> None:
    assert decide_modelled(100, 97, 0.02).outcome == "keep"
    assert decide_modelled(100, 99, 0.02).outcome == "undecided"
    assert decide_modelled(100, 103, 0.02).outcome == "revert"
    assert decide_modelled(100, 97, 0.02).speedup_low == pytest.approx(100 / 97 / 1.02)


def simulated(rng: np.random.Generator, true_speedup: float, rounds: int) -> tuple[list[float], list[float]]:
    """Paired rounds under the two-level noise of the design: 0.6 % between processes, 0.4 % between iterations."""
    noise = rng.normal(0, math.hypot(0.006, 0.004 / math.sqrt(10) * 1.25), size=(2, rounds))
    machine = rng.normal(0, 0.010, size=rounds)
    return [float(x) for x in 100 * np.exp(noise[0] + machine)], [
        float(x) for x in 100 / true_speedup * np.exp(noise[1] + machine)
    ]


def outcome(rng: np.random.Generator, true_speedup: float) -> str:
    """5, 9, 15 rounds and nine to confirm, without a machine around it."""
    best, new = simulated(rng, true_speedup, 24)
    for look in (5, 9, 15):
        decided = decide(best[:look], new[:look], delta=0.005, final=True).outcome
        if decided == "keep":
            pooled = decide(best[: look + 9], new[: look + 9], delta=0.005, final=True)
            block = [math.log(b / n) for b, n in zip(best[look : look + 9], new[look : look + 9], strict=True)]
            return "keep" if pooled.outcome == "keep" and sum(block) > 0 else "undecided"
        if decided == "revert":
            return "revert"
    return "undecided"


def test_equal_kernels_are_hardly_ever_kept_and_five_percent_is_nearly_always_found() -> None:
    rng = np.random.default_rng(20260101)
    equal = [outcome(rng, 1.0) for _ in range(400)]
    faster = [outcome(rng, 1.05) for _ in range(400)]
    assert equal.count("keep") <= 4
    assert faster.count("keep") >= 380
