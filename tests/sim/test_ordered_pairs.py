"""The order of two kernels, the factor between them, and the cause: what ranking depends on."""

import functools

import pytest
from ordered_pairs import PAIRS

from nki_anvil.sim.profile import estimate
from nki_anvil.sim.tracing import trace

WITHIN = 1.5
each_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.number} {pair.name}")


@functools.cache
def estimates(pair):
    return tuple(estimate(trace(kernel, *pair.inputs)) for kernel in (pair.slower, pair.faster))


@each_pair
def test_the_faster_kernel_comes_out_faster_by_about_the_factor_that_physics_gives(pair):
    slower, faster = (found.latency_us for found in estimates(pair))
    assert pair.low / WITHIN <= slower / faster <= pair.high * WITHIN


@each_pair
def test_the_gaps_of_the_slower_kernel_name_the_cause(pair):
    slower, faster = (
        {gap.name: gap.cost_us for gap in found.gaps if gap.name in pair.causes} for found in estimates(pair)
    )
    assert slower
    assert sum(slower.values()) > sum(faster.values())


@each_pair
def test_every_gap_of_a_kernel_names_its_lines_and_says_what_to_do(pair):
    for gap in estimates(pair)[0].gaps:
        assert gap.advice
        assert gap.lines
        assert all(line > 0 for line in gap.lines)
