"""What a profile says first."""

from nki_anvil.backends.run import Gap
from nki_anvil.lab.profiling import ranked

FOUND = (Gap(name="spills", cost_us=2), Gap(name="vector_precision", cost_us=9), Gap(name="reloads", cost_us=5))


def test_the_dearest_gap_comes_first():
    assert [gap.name for gap in ranked(FOUND, "bfloat16")] == ["vector_precision", "reloads", "spills"]


def test_a_gap_that_only_a_forbidden_format_closes_comes_last_and_says_so():
    first, *_, last = ranked(FOUND, "float32")
    assert first.name == "reloads"
    assert last.name == "vector_precision"
    assert last.cost_us == 9
    assert last.advice.startswith("Not while the result must be good for float32")
