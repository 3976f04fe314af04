"""What passes wrongly because no case needs it, the verdict names: limits and comparisons on which nothing hangs."""

import pytest
from cheats.catalogue import UNJUDGED, Entry, own
from court import Court

pytestmark = pytest.mark.anyio


QUICK = 2
"""Of them, that every run of the tests looks at."""


@pytest.mark.parametrize(
    "kernel", [*UNJUDGED[:QUICK], *(pytest.param(one, marks=pytest.mark.slow) for one in UNJUDGED[QUICK:])], ids=str
)
async def test_a_choice_that_shows_in_no_case_is_told(kernel: Entry, court: Court) -> None:
    verdict = await court.judge(kernel.problem, kernel.text())
    assert verdict.passed, verdict.gates
    (said,) = verdict.unjudged
    assert said.startswith(kernel.unjudged)
    assert said in verdict.warnings


@pytest.mark.parametrize(
    "problem", ["framed_words", *(pytest.param(slow, marks=pytest.mark.slow) for slow in ("fused_units", "softmax"))]
)
async def test_of_a_kernel_that_does_what_its_reference_says_nothing_is_told(problem: str, court: Court) -> None:
    verdict = await court.judge(problem, own(problem).read_text())
    assert verdict.passed, verdict.gates
    assert verdict.unjudged == ()
