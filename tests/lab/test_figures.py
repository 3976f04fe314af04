"""What a command reports: how it is read, and what the contest's score makes of it."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.lab.figures import PATTERNS, Figures, Unreadable, costs, middle, read, score

POSITIVE = st.floats(1e-3, 1e6)
FIGURES = st.builds(
    Figures,
    latency_ms=POSITIVE,
    throughput=POSITIVE,
    accuracy=st.floats(0.01, 1),
    nki_flops_share=st.floats(0, 1),
)


@given(FIGURES, FIGURES)
def test_the_ratio_that_decides_is_that_of_the_contests_scores_whatever_the_reference_is(new: Figures, best: Figures):
    reference = Figures(latency_ms=526.15, throughput=134.61)
    nothing = (1.0, 1.0, 1.0)
    ratio = score(new, reference, nothing).score / score(best, reference, nothing).score
    cost_of_best, cost = costs(best, new)
    assert cost_of_best / cost == pytest.approx(ratio)
    own = score(best, best, nothing).score
    assert score(new, best, nothing).score / own == pytest.approx(ratio)


def test_the_score_is_the_contests_formula():
    found = score(
        Figures(latency_ms=450, throughput=150, accuracy=1, nki_flops_share=0.6),
        Figures(latency_ms=526.15, throughput=134.61, accuracy=1),
        (1.0, 1.0, 1.0),
    )
    assert found.score == pytest.approx(1 * (526.15 / 450) * (150 / 134.61) * 1.6)


def test_a_figure_that_only_one_arm_reports_decides_nothing():
    with_it, without = Figures(latency_ms=10, throughput=500), Figures(latency_ms=10)
    assert costs(with_it, without) == (10_000, 10_000)


def test_figures_come_from_the_result_file_and_output_is_not_looked_at_then():
    found = read('{"latency_ms": 12.5, "accuracy": true, "note": "x"}', "Latency: 1\n", PATTERNS)
    assert found == Figures(latency_ms=12.5, accuracy=1)


CONTEST = """
Prompt: one
Final Score: 1.2
\tAccuracy: True
\tLatency: 400.0
\tThroughput: 100.0
\tNKI FLOPs Ratio: 0.5
Prompt: two
Final Score: 1.3
\tAccuracy: 1
\tLatency: 100.0
\tThroughput: 400.0
\tNKI FLOPs Ratio: 0.7
"""


def test_the_contests_own_output_is_understood_and_several_prompts_are_joined():
    found = read(None, CONTEST, PATTERNS)
    assert found.latency_ms == pytest.approx(200)
    assert found.throughput == pytest.approx(200)
    assert found.accuracy == 1
    assert found.nki_flops_share == pytest.approx(0.6)
    assert read(None, CONTEST.replace("Accuracy: 1", "Accuracy: False"), PATTERNS).accuracy == 0, "the worst prompt's"


def test_patterns_can_be_set():
    patterns = {**PATTERNS, "latency_ms": r"p99=([\d.]+) ms"}
    assert read(None, "p99=7.5 ms", patterns).latency_ms == 7.5


@pytest.mark.parametrize(
    ("result", "printed", "says"),
    [
        (None, "", "no line of its standard output matches"),
        ("[]", "", "no JSON object"),
        ("{", "", "not JSON"),
        ("[" * 100_000, "", "not JSON"),
        ("{}", "Latency: 3", "no latency_ms"),
        ('{"latency_ms": "fast"}', "", "latency_ms is no number: 'fast'"),
        ('{"latency_ms": [1]}', "", "no number"),
        ('{"latency_ms": 0}', "", "makes no sense: 0"),
        ('{"latency_ms": -1}', "", "makes no sense: -1"),
        ('{"latency_ms": NaN}', "", "makes no sense: nan"),
        ('{"latency_ms": 1e400}', "", "makes no sense: inf"),
        ('{"latency_ms": 1, "throughput": 0}', "", "throughput makes no sense"),
        ('{"latency_ms": 1, "nki_flops_share": 40}', "", "nki_flops_share makes no sense: 40"),
        ('{"latency_ms": 1, "accuracy": -0.5}', "", "accuracy makes no sense"),
        (None, "Latency: quick", "no number: 'quick'"),
        (None, "Latency: 0\nLatency: 4", "makes no sense"),
    ],
)
def test_what_cannot_be_used_is_named(result: str | None, printed: str, says: str):
    with pytest.raises(Unreadable, match=says):
        read(result, printed, PATTERNS)


@given(st.text(), st.text())
def test_whatever_a_command_says_is_figures_or_unreadable(result: str, printed: str):
    for file in (result, None, json.dumps({"latency_ms": result})):
        with contextlib.suppress(Unreadable):
            read(file, printed, PATTERNS)


@pytest.mark.parametrize("printed", ["\n" * 65536, " " * 65536, "Latency: " * 8000, "\t\n" * 32768])
def test_output_made_to_be_slow_to_search_is_searched_in_one_pass(printed: str):
    with pytest.raises(Unreadable):
        read(None, printed, PATTERNS)


def test_the_middle_of_several_runs_is_that_of_each_figure():
    runs = [Figures(latency_ms=ms, accuracy=accuracy) for ms, accuracy in ((3, 1), (1, 0.5), (2, None))]
    assert middle(runs) == Figures(latency_ms=2, accuracy=0.75)
