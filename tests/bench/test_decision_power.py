"""The figures that ``make bench`` prints of decisions, in short and seeded form."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import decision_power as power

from nki_anvil.backends.noisy import Noise


def test_a_kernel_that_is_not_faster_is_hardly_ever_kept_and_five_percent_is_nearly_always_found():
    assert power.rates(power.paired, Noise(), 1.0, 500)[0] <= 0.01
    assert power.rates(power.paired, Noise(), 1.05, 300)[0] >= 0.95


def test_a_stored_best_is_beaten_half_the_time_by_a_kernel_that_is_not_faster_also_with_retries():
    for rule in (power.stored_best, power.retried(0.01), power.retried(0.04)):
        assert 0.45 < power.rates(rule, Noise(), 1.0, 2000)[0] < 0.55


def test_more_noise_costs_power_and_never_makes_false_keeps():
    for factor in (2, 3):
        assert power.rates(power.paired, Noise().times(factor), 1.0, 200)[0] <= 0.01
    assert power.rates(power.paired, Noise().times(3), 1.03, 200)[0] < power.rates(power.paired, Noise(), 1.03, 200)[0]


@pytest.mark.parametrize("load", [0.03, 0.08, 0.2])
def test_load_on_one_arm_makes_no_false_keeps_and_hides_few_gains(load: float):
    assert power.rates(power.paired, Noise(load=load), 1.0, 300)[0] <= 0.01
    assert power.rates(power.paired, Noise(load=load, loaded_arm=1), 1.05, 300)[0] >= 0.95


def test_forty_attempts_that_change_nothing_claim_nothing_where_a_stored_best_claims_two_and_a_half_percent():
    shipped, stored = power.claims(12)
    assert abs(median(shipped) - 1) <= 0.005
    assert 1.02 < median(stored) < 1.035


def test_a_call_of_equal_candidates_keeps_none_of_them():
    assert power.false_beams(60) <= 0.01
