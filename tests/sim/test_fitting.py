"""Constants fitted to latencies of a machine whose constants are known."""

import os
from functools import lru_cache
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.lab.microkernels import EXPERIMENTS
from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.constants import ADJUSTABLE, adjusted, bounds, constant
from nki_anvil.sim.costs.rates import RATES
from nki_anvil.sim.fitting import Observation, fit, scatter
from nki_anvil.sim.model import Model

CHIP, PUBLISHED = CHIPS["trn2"], RATES["trn2"]
WITHIN = 0.10
"""How far a settled constant may be from the machine's, with timings good to a percent."""
TWINS = ({"issue_ns.gpsimd", "gpsimd_constant_cycles"}, {"dma_start_ns.unknown", "dma_complete_ns"})
"""Only their sum shows in a latency, nearly: one of them is left alone, and the other takes its error."""


@lru_cache
def programs(*entries):
    return [one.program() for one in EXPERIMENTS if not entries or one.entry in entries]


def observed(machine, noise, *entries):
    random, rates = np.random.default_rng(5), adjusted(PUBLISHED, machine)
    return [
        Observation(one, Model(one, CHIP, rates).run().latency / 1e3 * exp(random.normal(0, noise)), max(noise, 0.005))
        for one in programs(*entries)
    ]


def by_name(found):
    return {one.name: one for one in found.constants}


def test_the_constants_of_another_vector_engine_and_launch_are_found_through_noise():
    machine = {"launch_ns": 9000.0, "issue_ns.vector": 75.0, "latency_ns.vector": 65.0, "vector_pair_fp32": 1.6}
    found = by_name(fit(observed(machine, 0.005, "vector", "pairs"), CHIP, PUBLISHED, tuple(machine)))
    assert all(one.settled for one in found.values())
    for name, value in machine.items():
        assert found[name].value == pytest.approx(value, rel=WITHIN)


def test_a_constant_that_no_kernel_shows_keeps_its_published_value_and_says_so():
    names = ("issue_ns.vector", "table_load_ns")
    found = by_name(fit(observed({"issue_ns.vector": 80.0}, 0.005, "vector"), CHIP, PUBLISHED, names))
    assert found["issue_ns.vector"].settled
    assert not found["table_load_ns"].settled
    assert found["table_load_ns"].value == found["table_load_ns"].published == 1280
    assert "table_load_ns" not in fit(observed({}, 0.005, "vector"), CHIP, PUBLISHED, names).values


def test_of_two_constants_that_only_show_as_a_sum_one_stays_and_the_sum_is_right():
    names = ("issue_ns.gpsimd", "gpsimd_constant_cycles")
    machine = {"issue_ns.gpsimd": 90.0}
    found = by_name(fit(observed(machine, 0.002, "gpsimd"), CHIP, PUBLISHED, names))
    assert [one.settled for one in found.values()].count(True) == 1
    clock = CHIP.clocks_ghz["gpsimd"]
    total = found["issue_ns.gpsimd"].value + found["gpsimd_constant_cycles"].value / clock
    assert total == pytest.approx(90 + 150 / clock, rel=0.05)


def test_timings_too_noisy_to_tell_anything_change_nothing():
    found = fit(observed({"latency_ns.vector": 90.0}, 1.0, "vector"), CHIP, PUBLISHED, ("latency_ns.vector",))
    assert not found.values


def test_fitting_brings_predictions_to_the_measurements():
    seen = observed({"dma_engine_rate": 17.0, "dma_run_ns": 9.0}, 0.005, "copies")
    found = fit(seen, CHIP, PUBLISHED, ("dma_engine_rate", "dma_run_ns"))
    measured = np.array([one.microseconds for one in seen])
    off_before, off_after = (np.abs(np.array(one) / measured - 1).max() for one in (found.before, found.after))
    assert off_before > 0.2
    assert off_after < 0.02


def test_nothing_measured_is_nothing_fitted():
    with pytest.raises(ValueError, match="nothing to fit"):
        fit([], CHIP, PUBLISHED)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3] if os.environ.get("NKI_ANVIL_ENDURANCE") else [1])
def test_every_constant_of_a_strange_machine_is_found_or_said_not_to_be(seed):
    random = np.random.default_rng(seed)
    machine = {name: constant(PUBLISHED, name) * exp(random.normal(0, 0.25)) or 7000.0 for name in ADJUSTABLE}
    machine["clock_cold"] = min(machine["clock_cold"], 0.9)
    found = by_name(fit(observed(machine, 0.005), CHIP, PUBLISHED))
    assert sum(one.settled for one in found.values()) >= len(ADJUSTABLE) - 6
    alone = [name for name in ADJUSTABLE if found[name].settled and not any(name in twins for twins in TWINS)]
    off = {name: found[name].value / machine[name] - 1 for name in alone}
    assert all(abs(one) <= max(WITHIN, 3 * found[name].error) for name, one in off.items()), off


@given(st.sampled_from(ADJUSTABLE), st.floats(0, 1))
def test_a_replaced_constant_is_the_one_that_is_read_back_and_no_other_changes(name, share):
    low, high = bounds(PUBLISHED, name)
    value = low + (high - low) * share
    changed = adjusted(PUBLISHED, {name: value})
    assert constant(changed, name) == value
    assert all(constant(changed, other) == constant(PUBLISHED, other) for other in ADJUSTABLE if other != name)


def test_a_value_no_such_chip_can_have_and_a_name_that_is_none_are_refused():
    with pytest.raises(ValueError, match="dma_engine_rate is 1000"):
        adjusted(PUBLISHED, {"dma_engine_rate": 1000.0})
    with pytest.raises(KeyError, match="sbuf_size"):
        adjusted(PUBLISHED, {"sbuf_size": 1.0})


def test_many_samples_are_believed_more_than_few_but_never_without_limit():
    wide = [100.0, 90.0, 110.0]
    assert scatter(wide * 10) < scatter(wide)
    assert scatter([100.0] * 1000) == scatter([100.0]) > 0
