from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nki_anvil.backends.run import Profile
from nki_anvil.lab.report.axes import Scale, around, figure
from nki_anvil.lab.report.roofline import roofline
from nki_anvil.lab.report.timeline import CELLS, Event, busy, picture
from nki_anvil.lab.specification import Specification, Work


def specification(**work: float) -> Specification:
    known = {"default": Work(**work)}
    return Specification(
        name="p", version="v", reference="r.py", kernel="k.py", tolerance=1e-5, shape_sets={}, work=known
    )


def profile(us: float, moved: float) -> Profile:
    return Profile(shapes="default", origin="modelled", latency_us=us, metrics={"hbm_read_bytes": moved})


@example([1e-3, 1.0000000000000002e-3], False)
@given(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=5), st.booleans())
def test_every_value_and_every_tick_has_its_place_inside_the_axis(values: list[float], bent: bool):
    scale = Scale(*around(values, logarithmic=bent), 200, 20, logarithmic=bent)
    assert all(20 <= scale(value) <= 200 for value in values)
    ticks = scale.ticks()
    assert len(ticks) <= 12
    assert all(20 <= place <= 200 for place, _ in ticks)


@pytest.mark.parametrize(("value", "shown"), [(None, "–"), (17.5667, "17.57"), (123456.0, "123,500"), (0.0, "0")])
def test_a_number_has_as_many_digits_as_it_is_worth(value: float | None, shown: str):
    assert figure(value) == shown


def test_less_traffic_is_further_right_and_a_faster_kernel_higher_up():
    drawn = roofline(specification(vector_flops=1e6), [(0, profile(20, 4e6)), (3, profile(10, 2e6))], best=3)
    assert drawn is not None
    first, best = drawn.kernels
    assert best.x > first.x
    assert best.y < first.y
    assert (best.best, first.best) == (True, False)


def test_no_kernel_stands_above_the_roof():
    bandwidth_us = 368e3
    drawn = roofline(specification(vector_flops=1e6), [(0, profile(4e6 / bandwidth_us, 4e6))], best=0)
    assert drawn is not None
    x0, y0, x1, y1 = drawn.slope
    [kernel] = drawn.kernels
    assert kernel.y == pytest.approx(y0 + (kernel.x - x0) / (x1 - x0) * (y1 - y0), abs=0.5), "as fast as memory allows"


def test_without_known_work_there_is_no_roofline():
    assert roofline(specification(), [(0, profile(10, 1e6))], best=0) is None


@given(st.lists(st.tuples(st.floats(0, 90), st.floats(0.001, 10)), min_size=1, max_size=20))
def test_the_busy_time_in_the_picture_is_that_of_the_events(spans: list[tuple[float, float]]):
    events = [Event(ph="X", cat="vector", ts=start, dur=took) for start, took in spans]
    assert math.isclose(busy(events, 100.0).sum() * 100 / CELLS, sum(took for _, took in spans), rel_tol=1e-6)


def test_a_picture_of_its_own_is_a_whole_svg_file_in_both_colour_schemes():
    drawn = picture([Event(ph="X", cat="vector", ts=0, dur=1)], "a < b")
    assert drawn is not None
    assert ET.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in drawn
