"""The timeline is what Perfetto opens."""

import json

import pytest
from hypothesis import given, settings
from random_programs import program, steps

from nki_anvil.sim.profile import estimate

CHAIN = [("load", 0, 0, 512), ("scalar", 1, 0, 512), ("store", 0, 1, 512)]


def events(chosen):
    return json.loads(estimate(program(chosen), timeline=True).timeline)["traceEvents"]


def test_no_timeline_is_drawn_unless_asked_for():
    assert estimate(program(CHAIN)).timeline == ""


def test_each_instruction_is_an_event_with_its_line_on_its_engines_track():
    found = [event for event in events(CHAIN) if event["ph"] == "X"]
    assert [(event["name"], event["args"]["line"]) for event in found] == [
        ("dma_copy", 1),
        ("activation", 2),
        ("dma_copy", 3),
    ]
    titles = {event["tid"]: event["args"]["name"] for event in events(CHAIN) if event["ph"] == "M"}
    assert [titles[event["tid"]] for event in found] == ["dma loads", "scalar", "dma stores"]


def test_an_arrow_leads_from_each_instruction_to_the_one_that_waited_for_it():
    found = events(CHAIN)
    starts = {event["id"]: event for event in found if event["ph"] == "s"}
    ends = {event["id"]: event for event in found if event["ph"] == "f"}
    assert starts.keys() == ends.keys() == {1, 2}
    tracks = {event["args"]["line"]: event["tid"] for event in found if event["ph"] == "X"}
    assert (starts[1]["tid"], ends[1]["tid"]) == (tracks[1], tracks[2])
    assert (starts[2]["tid"], ends[2]["tid"]) == (tracks[2], tracks[3])


@given(steps)
@settings(max_examples=30, deadline=None)
def test_events_of_a_compute_engine_never_overlap_and_end_within_the_latency(chosen):
    found = estimate(program(chosen), timeline=True)
    ends: dict[int, float] = {}
    for event in sorted(
        (event for event in json.loads(found.timeline)["traceEvents"] if event["ph"] == "X"),
        key=lambda event: event["ts"],
    ):
        assert event["ts"] + event["dur"] <= found.latency_us + 1e-9
        if not event["cat"].startswith("dma"):
            assert event["ts"] >= ends.get(event["tid"], 0) - 1e-9
            ends[event["tid"]] = event["ts"] + event["dur"]


@pytest.mark.parametrize("name", ["loads", "stores"])
def test_transfers_are_issued_by_queues_of_their_own(name):
    kind = name.removesuffix("s")
    titles = {event["args"]["name"] for event in events([(kind, 0, 0, 512)]) if event["ph"] == "M"}
    assert titles == {f"dma {name}"}
