"""Counts for a monitoring system, as text and as JSON."""

from __future__ import annotations

import json
import re
import sys

import pytest
from lab_world import World, kernel

from nki_anvil.server.building import Builder
from nki_anvil.server.commands import run
from nki_anvil.server.metrics import Metric, Sample, collect

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? (-?[0-9.e+-]+)')


def values(text: str) -> dict[tuple[str, str], float]:
    """Of the text format, in which every sample stands below the type of its metric."""
    found: dict[tuple[str, str], float] = {}
    kind = ""
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            kind = line.split()[2]
        elif not line.startswith("#"):
            matched = SAMPLE.fullmatch(line)
            assert matched, line
            assert matched[1] == kind
            found[matched[1].removeprefix("nki_anvil_"), matched[2] or ""] = float(matched[3])
    return found


@pytest.mark.anyio
async def test_what_happened_is_counted_by_problem_origin_and_outcome_and_outlives_the_server(world: World):
    await world.open()
    await world.attempt(kernel(8))
    await world.attempt(kernel(11))
    failed = await world.attempt(kernel(7, fails="values"))
    await world.reflect(failed.attempt)
    found = values(str(collect(world.again())))
    own = 'problem="p",origin="modelled"'
    assert found["attempts_total", 'problem="p"'] == 4
    assert found["verdicts_total", f'{own},gate="passed"'] == 3
    assert found["verdicts_total", f'{own},gate="values"'] == 1
    assert found["benchmarks_total", f'{own},outcome="keep"'] == 2
    assert found["benchmarks_total", f'{own},outcome="revert"'] == 1
    assert found["events_total", f'{own},event="reflexion"'] == 1
    assert found["best_latency_seconds", own] == 8e-6
    assert found["device_seconds_total", 'problem="p"'] == 0
    assert found["guard_closed", own] == 0


@pytest.mark.anyio
async def test_a_problem_that_is_refused_hides_no_other_and_what_two_names_spent_together_is_told_once(world: World):
    for name in ("p", "q", "r"):
        await world.open(name=name)
    edited = world.state / "problem.json"
    edited.write_text(edited.read_text().replace('"tolerance":', '"tolerance": 1, "was":', 1))
    found = values(str(collect(world.again())))
    assert {of for what, of in found if what == "attempts_total"} == {'problem="q"', 'problem="r"'}
    assert [of for what, of in found if what == "device_seconds_total"] == ['problem="q"']


def test_the_command_prints_them_as_text_and_as_json_and_makes_no_state(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(Builder, "laboratory", lambda _: world.lab)
    printed: list[str] = []
    for arguments in (["status", "--metrics"], ["status", "--metrics", "--json"]):
        monkeypatch.setattr(sys, "argv", ["nki-anvil", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        assert not ended.value.code
        printed.append(capsys.readouterr().out)
    assert "# TYPE nki_anvil_attempts_total counter" in printed[0]
    assert {one["name"] for one in json.loads(printed[1])["metrics"]} >= {"nki_anvil_jobs", "nki_anvil_guard_closed"}
    assert not (world.workspace / ".nki-anvil").exists()


def test_a_label_may_hold_anything():
    metric = Metric(name="m", kind="gauge", help="h", samples=[Sample(labels={"problem": 'a"b\\c\nd'}, value=1.5)])
    assert str(metric).splitlines()[-1] == r'm{problem="a\"b\\c\nd"} 1.5'
