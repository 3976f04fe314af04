from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from lab_world import World, kernel

pytestmark = pytest.mark.anyio


async def page(world: World) -> str:
    await world.finish()
    return (world.state / "report.html").read_text()


async def test_every_attempt_is_a_row_and_every_measured_one_a_point(world: World) -> None:
    await world.open()
    await world.attempt(kernel(8))
    await world.attempt(kernel(8.5))
    failed = await world.verify(kernel(7, fails="sensitivity"))
    await world.reflect(failed.attempt, lesson="edges matter")
    html = await page(world)
    picture = ET.fromstring(re.search(r"<svg.*?</svg>", html, re.DOTALL).group())  # type: ignore[union-attr]
    kinds = [circle.get("class") for circle in picture.iter("circle")]
    assert kinds == ["keep", "keep", "revert"]
    heights = [float(circle.get("cy") or 0) for circle in picture.iter("circle")]
    assert heights[0] < heights[2] < heights[1], "slower is higher up"
    assert html.count('<tr><td class="n">') == 4
    assert "sensitivity" in html
    assert "edges matter" in html
    assert "1.25 times as fast" in html


async def test_it_needs_no_network_and_no_script(world: World) -> None:
    await world.open()
    html = await page(world)
    assert not re.findall(r"(?:src|href)=|<script|@import|url\(", html)
    assert "prefers-color-scheme: dark" in html


async def test_what_a_kernel_or_a_plan_says_is_only_text(world: World) -> None:
    await world.open()
    evil = "<img onerror=alert(1)>"
    await world.verify(kernel(5, note=evil), plan=evil)
    await world.benchmark(kernel(5, note=evil))
    html = await page(world)
    assert evil not in html
    assert html.count("&lt;img onerror=alert(1)&gt;") == 2


async def test_a_problem_without_a_right_kernel_has_a_report_too(world: World) -> None:
    world.edit(kernel(10, fails="values"))
    await world.open()
    html = await page(world)
    assert "No kernel has passed yet" in html
    assert "<svg" not in html
