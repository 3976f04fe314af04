from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nki_anvil.lab import guard
from nki_anvil.lab.guard import FAILURE, SLIP, Guard

NEW = Guard()


def test_three_failures_close_it_and_name_the_last() -> None:
    now = NEW
    for attempt in ("k4", "k5", "k6"):
        assert not now.closed
        now = guard.failed(now, attempt, FAILURE, allowed=3)
    assert now.closed_by == "k6"


def test_nine_slips_weigh_three_failures_exactly() -> None:
    now = NEW
    for attempt in range(8):
        now = guard.failed(now, f"k{attempt}", SLIP, allowed=3)
    assert not now.closed
    assert guard.failed(now, "k8", SLIP, allowed=3).closed


def test_as_many_may_be_judged_at_once_as_may_fail_before_it_closes() -> None:
    now = NEW
    for attempt, expected in enumerate((3, 3, 3, 2, 2, 2, 1, 1, 1)):
        assert guard.turns(now, allowed=3) == expected
        now = guard.failed(now, f"k{attempt}", SLIP, allowed=3)
    assert now.closed


def test_an_attempt_counts_once() -> None:
    once = guard.failed(NEW, "k1", SLIP, allowed=3)
    assert guard.failed(once, "k1", FAILURE, allowed=3) == once
    assert guard.regressed(once, "k1", 0.1, allowed=3, threshold=1.5) == once


def test_a_regression_beyond_the_threshold_closes_it_and_one_up_to_it_only_counts() -> None:
    assert not guard.regressed(NEW, "k1", 1 / 1.49, allowed=3, threshold=1.5).closed
    assert guard.regressed(NEW, "k1", 1 / 1.51, allowed=3, threshold=1.5).closed_by == "k1"


def test_a_keep_resets_the_count_but_does_not_open_a_closed_guard() -> None:
    closed = guard.regressed(NEW, "k1", 0.5, allowed=3, threshold=1.5)
    assert guard.kept(closed).closed
    assert guard.kept(closed).thirds == 0


def test_only_the_reflexion_on_the_closing_attempt_opens_it() -> None:
    closed = guard.regressed(NEW, "k3", 0.5, allowed=3, threshold=1.5)
    assert guard.reflected(closed, "k2", ["k2", "k3"]).closed
    assert not guard.reflected(closed, "k3", ["k2", "k3"]).closed


def test_a_reflexion_on_a_new_attempt_resets_the_count_and_one_on_an_old_attempt_does_not() -> None:
    thought = guard.reflected(guard.failed(NEW, "k2", FAILURE, allowed=3), "k2", ["k1", "k2"])
    assert thought.thirds == 0
    failed_again = guard.failed(thought, "k3", FAILURE, allowed=3)
    assert guard.reflected(failed_again, "k1", ["k1", "k2", "k3"]).thirds == FAILURE
    assert guard.reflected(failed_again, "k3", ["k1", "k2", "k3"]).thirds == 0


@given(st.integers(1, 10), st.lists(st.sampled_from([SLIP, FAILURE]), max_size=60))
def test_it_closes_exactly_when_the_weights_reach_what_is_allowed(allowed: int, weights: list[int]) -> None:
    now = NEW
    for attempt, thirds in enumerate(weights):
        now = guard.failed(now, f"k{attempt}", thirds, allowed=allowed)
    assert now.closed == (sum(weights) >= allowed * FAILURE)


class Session(RuleBasedStateMachine):
    """Any order of attempts and reflexions, with the guard stored and read back at every step."""

    def __init__(self) -> None:
        super().__init__()
        self.now = Guard()
        self.attempts = 0

    def keep(self, now: Guard) -> None:
        self.now = Guard.model_validate_json(now.model_dump_json())

    @precondition(lambda self: not self.now.closed)
    @rule(thirds=st.sampled_from([0, SLIP, FAILURE]))
    def verify(self, thirds: int) -> None:
        self.keep(guard.failed(self.now, f"k{self.attempts}", thirds, allowed=3))
        self.attempts += 1

    @precondition(lambda self: not self.now.closed)
    @rule(speedup=st.floats(0.2, 1.0))
    def revert(self, speedup: float) -> None:
        self.keep(guard.regressed(self.now, f"k{self.attempts}", speedup, allowed=3, threshold=1.5))
        self.attempts += 1

    @rule()
    def keep_one(self) -> None:
        self.keep(guard.kept(self.now))
        self.attempts += 1

    @precondition(lambda self: self.attempts > 0)
    @rule(data=st.data())
    def reflect_on_any(self, data: st.DataObject) -> None:
        attempt = data.draw(st.integers(0, self.attempts - 1))
        self.keep(guard.reflected(self.now, f"k{attempt}", [f"k{n}" for n in range(self.attempts)]))

    @invariant()
    def closed_for_a_reason_that_can_be_answered(self) -> None:
        if self.now.closed:
            assert self.now.why
            assert not guard.reflected(self.now, self.now.closed_by or "", []).closed

    @invariant()
    def never_open_with_three_failures(self) -> None:
        assert self.now.closed or self.now.thirds < 3 * FAILURE


Session.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestSession = Session.TestCase
