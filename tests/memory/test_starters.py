import json
from typing import Any

import pytest
from model_pairs import modelled, pair_of

from nki_anvil.memory.adding import LIMITS
from nki_anvil.memory.experience import Draft, Measurement
from nki_anvil.memory.retrieval import Situation, query
from nki_anvil.memory.starters import load_starters, starter_text
from nki_anvil.memory.store import Store

LINES = [json.loads(line) for line in starter_text().splitlines()]


def test_there_are_at_least_forty_starters_each_with_its_origin():
    assert len(LINES) >= 40
    assert {line["provenance"] for line in LINES} == {"documented", "modelled"}
    for line in LINES:
        documented = line["provenance"] == "documented"
        assert line["source"].startswith("https://") if documented else pair_of(line), line["title"]


def test_only_pairs_measured_on_our_model_claim_a_speedup():
    claims = [line for line in LINES if line["kind"] == "speedup" or line.get("evidence")]
    assert claims
    assert all(line["provenance"] == "modelled" for line in claims)
    assert all(measured["origin"] == "modelled" for line in claims for measured in line["evidence"])


@pytest.mark.parametrize("line", [one for one in LINES if pair_of(one)], ids=lambda line: line["title"])
def test_the_figure_of_a_pair_is_the_models(line: dict[str, Any]):
    pair = pair_of(line)
    assert pair
    (stored,) = line["evidence"]
    assert stored["speedup"] == pytest.approx(modelled(pair).speedup, rel=0.05), "run python tests/model_pairs.py"


def test_no_starter_is_too_long():
    assert all(len(line[field]) <= limit for line in LINES for field, limit in LIMITS.items())


def test_all_starters_are_loaded_once(store: Store):
    assert load_starters(store).added == len(LINES)
    assert load_starters(store).merged == 0
    assert store.count() == len(LINES)


def test_a_new_edition_adds_what_is_new_and_brings_nothing_back(store: Store):
    load_starters(store)
    retired = store.experiences()[0].id
    with store.writing() as connection:
        connection.execute("UPDATE experiences SET retired_at = 1 WHERE id = ?", (retired,))
    line = {"kind": "fact", "title": "Fresh", "when_to_use": "fresh", "advice": "fresh", "provenance": "documented"}
    assert load_starters(store, starter_text() + json.dumps(line)).added == 1
    assert not store.get(retired).active


def test_a_new_memory_answers_a_first_question(store: Store):
    load_starters(store)
    answer = query(store, Situation(text="rmsnorm: VectorE is busiest", families=("norm",), bottleneck="pipeline"))
    titles = [one.experience.title for one in answer.experiences]
    assert "Do two vector operations in one instruction" in titles
    assert any(one.experience.kind == "pitfall" for one in answer.experiences)


def test_evidence_lines_are_sentences(lesson: Draft, store: Store, kept: Measurement):
    from nki_anvil.memory.adding import add_experience

    stored = add_experience(store, lesson, measured=kept).id
    assert store.evidence(stored).line == "kept 1, reverted 0, wrong 0 (modelled), speedup up to 1.30"
