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
    titles = {event["tid"]: event["args"]["name"] for event in events(CHAIN) if event["name"] == "thread_name"}
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
@settings(max_examples=30)
def test_events_of_one_track_never_overlap_and_end_within_the_latency(chosen):
    found = estimate(program(chosen), timeline=True)
    ends: dict[int, float] = {}
    for event in sorted(
        (event for event in json.loads(found.timeline)["traceEvents"] if event["ph"] == "X"),
        key=lambda event: event["ts"],
    ):
        assert event["ts"] + event["dur"] <= found.latency_us + 1e-9
        assert event["ts"] >= ends.get(event["tid"], 0) - 1e-9
        ends[event["tid"]] = event["ts"] + event["dur"]


@pytest.mark.parametrize("name", ["loads", "stores"])
def test_transfers_are_issued_by_queues_of_their_own(name):
    kind = name.removesuffix("s")
    titles = {event["args"]["name"] for event in events([(kind, 0, 0, 512)]) if event["name"] == "thread_name"}
    assert titles == {f"dma {name}"}


PHASES = {"X", "M", "s", "f"}


@given(steps)
@settings(max_examples=30)
def test_every_event_is_one_that_a_viewer_of_trace_events_knows(chosen):
    for event in events(chosen):
        assert event["ph"] in PHASES
        assert isinstance(event["pid"], int)
        assert event["name"] == "process_name" or isinstance(event["tid"], int)
        assert event["name"]
        if event["ph"] != "M":
            assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0


@given(steps)
@settings(max_examples=30)
def test_each_arrow_begins_and_ends_inside_an_event_and_points_forward(chosen):
    found = events(chosen)
    spans = [(e["pid"], e["tid"], e["ts"], e["ts"] + e["dur"]) for e in found if e["ph"] == "X"]
    arrows: dict[int, dict[str, dict]] = {}
    for event in found:
        if event["ph"] in "sf":
            assert event["ph"] not in arrows.setdefault(event["id"], {})
            arrows[event["id"]][event["ph"]] = event
    for arrow in arrows.values():
        assert arrow.keys() == {"s", "f"}
        assert arrow["s"]["name"] == arrow["f"]["name"]
        for end in arrow.values():
            place = (end["pid"], end["tid"])
            assert any(place == span[:2] and span[2] <= end["ts"] < span[3] for span in spans)
        if arrow["s"]["name"] == "read after write":
            assert arrow["s"]["ts"] <= arrow["f"]["ts"]
