from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.backends.noisy import Noise, factors
from nki_anvil.lab.decision import Decision, decide, decide_modelled, t_cdf, t_quantile

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


@pytest.mark.parametrize(
    ("best", "new"),
    [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([math.nan], [1.0]), ([1.0], [math.inf]), ([1.0], [-2.0])],
)
def test_latencies_that_are_none_are_refused(best: list[float], new: list[float]) -> None:
    with pytest.raises(ValueError, match="latencies must be"):
        decide(best, new, delta=0.005)


@pytest.mark.parametrize(
    "terms",
    [{"delta": -0.1}, {"delta": math.nan}, {"delta": 0.01, "aa_sd": -1.0}, {"delta": 0.01, "aa_sd": math.inf},
     {"delta": 0.01, "confidence": 0.0}, {"delta": 0.01, "confidence": 1.0}, {"delta": 0.01, "confidence": math.nan}],
)  # fmt: skip
def test_terms_that_make_no_sense_are_refused(terms: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="got"):
        decide([100.0] * 5, [90.0] * 5, **terms)  # type: ignore[arg-type]


def test_fewer_than_five_rounds_decide_only_when_no_more_will_come() -> None:
    best, new = [100.0, 100.1, 99.9, 100.0], [80.0, 80.1, 79.9, 80.0]
    assert decide(best, new, delta=0.005).outcome == "undecided"
    assert decide(best, new, delta=0.005, final=True).outcome == "keep"
    assert decide([*best, 100.0], [*new, 80.0], delta=0.005).outcome == "keep"


def test_where_every_round_is_void_nothing_is_decided_even_at_the_end() -> None:
    decision = decide([100.0, 100.0, 300.0, 300.0], [300.0, 300.0, 100.0, 100.0], delta=0.005, final=True)
    assert (decision.outcome, decision.rounds, decision.repeat) == ("undecided", 0, (0, 1, 2, 3))


def test_a_gain_that_a_third_of_the_rounds_carries_is_none() -> None:
    best = [100.0, 100.2, 99.8, 100.1, 99.9, 100.0, 101.9, 102.0, 102.1]
    new = [100.0] * 9
    decision = decide(best, new, delta=0.0)
    assert decision.repeat == ()
    assert decision.speedup_low < 1 < decision.speedup_high
    assert decide([us * 1.02 for us in new], new, delta=0.0).outcome == "keep"


def test_light_load_on_one_arm_is_void_and_what_slows_both_arms_is_not() -> None:
    best, new = [100.0] * 4 + [103.5], [100.0] * 5
    assert decide(best, new, delta=0.005).repeat == (4,)
    assert decide(new, best, delta=0.005).repeat == (4,)
    assert decide(best, best, delta=0.005).repeat == ()


def test_latencies_at_the_ends_of_what_a_float_holds_are_judged_without_an_error() -> None:
    assert decide([1e300] * 5, [1e-300] * 5, delta=0.005).outcome == "keep"
    assert decide([1e-300] * 5, [1e300] * 5, delta=0.005).outcome == "revert"
    wild = decide([1.0, 1.0], [1.0, 1e12], delta=0.005, aa_sd=1e12, final=True)
    assert (wild.outcome, wild.speedup_high) == ("undecided", math.inf)
    assert decide([2.0] * 5, [1.0] * 5, delta=0.005, confidence=1 - 1e-12).outcome == "keep"


def test_whatever_holds_numbers_may_hold_the_latencies() -> None:
    best, new = np.array([100.0, 101, 99, 100, 100]), np.array([90.0, 91, 89, 90, 90])
    assert decide(best, new, delta=0.005) == decide(best.tolist(), new.tolist(), delta=0.005)  # type: ignore[arg-type]
    assert decide([100] * 5, [90] * 5, delta=0.005).outcome == "keep"


@given(LATENCIES)
def test_the_interval_holds_the_speedup_and_exchanging_the_arms_inverts_it(rounds: list[tuple[float, float]]) -> None:
    best, new = [b for b, _ in rounds], [n for _, n in rounds]
    forth, back = decide(best, new, delta=0.005, final=True), decide(new, best, delta=0.005, final=True)
    assert forth.speedup_low <= forth.speedup * (1 + 1e-12)
    assert forth.speedup <= forth.speedup_high * (1 + 1e-12)
    assert forth.speedup * back.speedup == pytest.approx(1)
    assert forth.speedup_low * back.speedup_high == pytest.approx(1) or forth.speedup_low == 0
    assert forth.repeat == back.repeat
    assert not (forth.outcome == "keep" == back.outcome)


@given(LATENCIES, st.booleans(), st.floats(0, 0.1))
def test_what_is_to_be_repeated_is_among_the_rounds_and_the_outcome_is_what_the_interval_says(
    rounds: list[tuple[float, float]], final: bool, delta: float
) -> None:
    best, new = [b for b, _ in rounds], [n for _, n in rounds]
    found = decide(best, new, delta=delta, final=final)
    assert set(found.repeat) <= set(range(len(rounds)))
    assert list(found.repeat) == sorted(set(found.repeat))
    assert found.rounds == len(rounds) - len(found.repeat)
    if found.outcome == "keep":
        assert found.speedup_low > 1 + delta
    if found.outcome == "revert":
        assert found.speedup_high < 1 + max(delta, 0.01)
    if not final and (found.repeat or len(rounds) < 5):
        assert found.outcome == "undecided"


ORDER = {"revert": 0, "undecided": 1, "keep": 2}


@given(LATENCIES, st.floats(1.0, 1.5))
def test_a_kernel_that_is_faster_in_every_round_is_never_judged_worse(
    rounds: list[tuple[float, float]], faster: float
) -> None:
    best, new = [b for b, _ in rounds], [n for _, n in rounds]
    slow = decide(best, new, delta=0.005, final=True)
    fast = decide(best, [n / faster for n in new], delta=0.005, final=True)
    if slow.repeat == fast.repeat:
        assert fast.speedup >= slow.speedup * (1 - 1e-12)
        assert ORDER[fast.outcome] >= ORDER[slow.outcome]


@given(LATENCIES, st.randoms(use_true_random=False))
def test_the_order_of_the_rounds_does_not_matter(rounds: list[tuple[float, float]], chance: Random) -> None:
    order = chance.sample(range(len(rounds)), len(rounds))
    best, new = [b for b, _ in rounds], [n for _, n in rounds]
    one = decide(best, new, delta=0.005, final=True)
    other = decide([best[i] for i in order], [new[i] for i in order], delta=0.005, final=True)
    assert {order[i] for i in other.repeat} == set(one.repeat)
    assert other.speedup == pytest.approx(one.speedup)
    assert other.speedup_low == pytest.approx(one.speedup_low)


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


def rounds_until_decided(random: np.random.Generator, noise: Noise, speedup: float, looks: Sequence[int]) -> str:
    """Rounds until it is decided, void ones again, and no machine, plan or confirmation around it."""
    arms = np.median(factors(noise, random, 200), axis=2) / [1, speedup]
    more: Iterator[list[float]] = iter(arms.tolist())
    pairs: list[list[float]] = []
    for look in looks:
        pairs += islice(more, look - len(pairs))
        while (found := judged(pairs)).repeat:
            for index in found.repeat:
                pairs[index] = next(more)
        if found.outcome != "undecided":
            return found.outcome
    return judged(pairs, final=True).outcome


def judged(pairs: list[list[float]], *, final: bool = False) -> Decision:
    return decide([b for b, _ in pairs], [n for _, n in pairs], delta=0.005, final=final)


@pytest.mark.parametrize("looks", [(5, 9, 15), range(1, 16)])
def test_by_itself_it_hardly_ever_keeps_an_equal_kernel_and_finds_five_percent(looks: Sequence[int]) -> None:
    random = np.random.default_rng(20260101)
    equal = [rounds_until_decided(random, Noise(), 1.0, looks) for _ in range(400)]
    faster = [rounds_until_decided(random, Noise(), 1.05, looks) for _ in range(400)]
    assert equal.count("keep") <= 4
    assert faster.count("keep") >= 380


@pytest.mark.parametrize("load", [0.03, 0.05, 0.08, 0.2])
def test_by_itself_it_is_not_taken_in_by_load_on_one_arm(load: float) -> None:
    random = np.random.default_rng(20260101)
    equal = [rounds_until_decided(random, Noise(load=load), 1.0, (5, 9, 15)) for _ in range(400)]
    hidden = [rounds_until_decided(random, Noise(load=load, loaded_arm=1), 1.05, (5, 9, 15)) for _ in range(400)]
    assert equal.count("keep") <= 4
    assert hidden.count("keep") >= 380
