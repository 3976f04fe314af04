from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from lab_world import World, kernel

from nki_anvil.backends.errors import AttemptUnknown
from nki_anvil.lab import seals
from nki_anvil.lab.report import page
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.workbench import workbench
from nki_anvil.server import shelf

pytestmark = pytest.mark.anyio


async def finished(world: World) -> str:
    await world.finish()
    return (world.state / "report.html").read_text()


def pictures(html: str, kind: str) -> list[ET.Element]:
    return [ET.fromstring(text) for text in re.findall(rf'<svg class="{kind}".*?</svg>', html, re.DOTALL)]


def trace(world: World, attempt: int, *spans: tuple[str, float, float]) -> None:
    """A timeline as a profile leaves it: engine, start, duration."""
    events = [{"ph": "X", "name": "i", "cat": engine, "ts": start, "dur": took} for engine, start, took in spans]
    traced(world, attempt, json.dumps({"traceEvents": events}))


def traced(world: World, attempt: int, text: str) -> None:
    found = world.lab.problem("p").attempts.get(attempt)
    [stored] = found.profiles()
    found.add_profile(stored.backend, stored.toolchain, stored.profile.model_copy(update={"timeline": text}))


async def test_every_measured_attempt_is_a_point_and_every_rejected_one_a_cross(world: World) -> None:
    await world.open()
    await world.attempt(kernel(8))
    await world.attempt(kernel(8.5))
    failed = await world.verify(kernel(7, fails="sensitivity"))
    await world.reflect(failed.attempt, lesson="edges matter")
    html = await finished(world)
    [picture] = pictures(html, "trajectory")
    signs = [group.get("class") for group in picture.iter("g")]
    assert signs == ["keep", "keep", "revert", "rejected"]
    first, second = (float(circle.get("cy") or 0) for circle in picture.iter("circle"))
    assert first < second, "slower is higher up"
    assert html.count('<tr class="attempt">') == 4
    assert "sensitivity" in html
    assert "edges matter" in html
    assert "<b>1.25×</b>" in html
    assert "<b>3</b><span>attempts after the baseline: 1 kept, 1 reverted, 1 rejected, 0 undecided" in html


async def test_written_once_more_it_still_has_the_figure_that_was_measured_at_the_end(world: World) -> None:
    await world.open()
    await world.attempt(kernel(8))
    await finished(world)
    assert "of the baseline, modelled anew" in page.render(workbench(world.lab, "p"))
    await world.attempt(kernel(7))
    assert "<code>finish</code> compares both anew" in page.render(workbench(world.lab, "p"))


async def test_an_interval_is_a_whisker(world: World) -> None:
    await world.open()
    await world.attempt(kernel(8))
    [picture] = pictures(await finished(world), "trajectory")
    assert len([path for path in picture.iter("path") if "whisker" in (path.get("class") or "")]) == 1


async def test_it_needs_no_network_and_no_script(world: World) -> None:
    await world.open()
    html = await finished(world)
    addresses = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert all(address.startswith("data:") for address in addresses)
    assert not re.findall(r"<script|@import|url\(|\son\w+=", html)
    assert "prefers-color-scheme: dark" in html


async def test_what_a_kernel_or_a_plan_says_is_only_text(world: World) -> None:
    await world.open()
    evil = "<img onerror=alert(1)>"
    await world.verify(kernel(5, note=evil), plan=evil)
    await world.benchmark(kernel(5, note=evil))
    html = await finished(world)
    assert evil not in html
    assert html.count("&lt;img onerror=alert(1)&gt;") == 4, "lineage, attempts, the point's label and the kernel"


async def test_a_problem_without_a_right_kernel_has_a_report_too(world: World) -> None:
    world.edit(kernel(10, fails="values"))
    await world.open()
    html = await finished(world)
    assert "No kernel has passed yet" in html
    assert "<svg" not in html


async def test_baseline_and_best_stand_side_by_side_on_one_scale_of_time(world: World) -> None:
    await world.open()
    await world.attempt(kernel(5))
    trace(world, 0, ("vector", 0.0, 10.0))
    trace(world, 1, ("vector", 0.0, 5.0))
    drawn = pictures(page.render(workbench(world.lab, "p")), "timeline")
    widths = [float(bar.get("width") or 0) for one in drawn for bar in one.iter("rect") if bar.get("class") == "s4"]
    assert widths[0] == pytest.approx(2 * widths[1], abs=2)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"traceEvents": [{"ph": "X", "ts": "NaN", "dur": 1e999}]}'])
async def test_a_damaged_timeline_is_left_out(world: World, text: str) -> None:
    await world.open()
    traced(world, 0, text)
    assert pictures(page.render(workbench(world.lab, "p")), "timeline") == []


async def rejected_somewhere(world: World) -> Path:
    """A rejected kernel with a heat map, which is returned."""
    await world.open()
    failed = await world.verify(kernel(7, fails="values"))
    verdict = world.state / f"attempts/{failed.attempt:04}/verdict.json"
    where = {"output": 0, "index": [3, 4], "row": [3], "family": "zeros", "shapes": "default", "got": 1, "expected": 2}
    stored = json.loads(verdict.read_text())
    stored["verdicts"][0]["where"] = where
    verdict.write_text(json.dumps(stored))
    told = Verdict.model_validate(stored["verdicts"][0])
    seals.note(world.state, f"attempt {failed.attempt}", told)
    world.lab.problem("p").attempts.get(failed.attempt).keep_heat("modelled", "<svg/>")
    return verdict.parent / "heat.modelled.svg"


async def test_the_heat_map_of_a_rejected_kernel_is_inside_the_page(world: World) -> None:
    await rejected_somewhere(world)
    html = page.render(workbench(world.lab, "p"))
    assert 'src="data:image/svg+xml;base64,PHN2Zy8+"' in html
    assert "[3, 4]" in html


@pytest.mark.parametrize("how", ["is another", "is a link", "is a pipe", "is no text"])
async def test_a_picture_that_the_server_did_not_draw_is_not(world: World, how: str, tmp_path: Path) -> None:
    drawn = await rejected_somewhere(world)
    drawn.unlink()
    if how == "is a link":
        (tmp_path / "outside").write_text("<svg/>")
        drawn.symlink_to(tmp_path / "outside")
    elif how == "is a pipe":
        os.mkfifo(drawn)
    else:
        drawn.write_bytes(b"<svg>measured on trn2: 12x</svg>" if how == "is another" else b"\xff\xfe")
    html = page.render(workbench(world.lab, "p"))
    assert "data:image/svg+xml" not in html
    assert "[3, 4]" in html


async def test_a_child_stands_under_its_parent_in_the_lineage(world: World) -> None:
    await world.open()
    await world.attempt(kernel(8))
    await world.verify(kernel(7), parent=(await world.status()).baseline.digest)
    found = re.search(r'<ul class="tree">.*?</ul>(?=\s*</section>)', await finished(world), re.DOTALL)
    assert found is not None
    tree = ET.fromstring(found[0])
    [root] = tree.findall("li")
    assert [span.text for span in root.findall("./ul/li/span[1]")] == ["1", "2"]


async def test_a_profile_names_its_picture_where_there_is_a_timeline(world: World) -> None:
    await world.open()
    assert (await world.profile()).picture is None
    trace(world, 0, ("vector", 0.0, 10.0))
    path = (await world.profile()).picture
    assert path == ".nki-anvil/problems/p/attempts/0000/timeline.modelled.svg"
    assert "10 us modelled" in (world.workspace / path).read_text()


async def test_a_timeline_that_somebody_wrote_is_no_timeline_and_the_next_profile_makes_it_anew(world: World) -> None:
    await world.open()
    trace(world, 0, ("vector", 0.0, 10.0))
    file = world.state / "attempts/0000/timeline.modelled.json"
    kept = world.lab.problem("p").attempts.get(0)
    told = shelf.timeline(world.lab, "p", kept.digest)
    file.write_text(told.replace("10.0", "1.0"))
    assert pictures(page.render(workbench(world.lab, "p")), "timeline") == []
    with pytest.raises(AttemptUnknown, match="not as it was stored"):
        shelf.timeline(world.lab, "p", kept.digest)
    await world.profile()
    assert shelf.timeline(world.lab, "p", kept.digest) == "[]", "what the world's backend says"
