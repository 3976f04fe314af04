import pytest

from nki_anvil.backends.errors import MemoryInvalid
from nki_anvil.memory.adding import add_experience
from nki_anvil.memory.credit import condemn, credit, credits_of, withdraw
from nki_anvil.memory.curation import lower_bound, sweep
from nki_anvil.memory.exchange import export_lines
from nki_anvil.memory.experience import Draft, Measurement, Outcome, Tags
from nki_anvil.memory.retrieval import Situation, query
from nki_anvil.memory.store import Store


def ask(store: Store, text: str = "gain") -> str:
    shown = query(store, Situation(text=text)).shown_id
    assert shown is not None
    return shown


def use(store: Store, outcome: Outcome, attempt: int) -> None:
    """One answer, and one attempt under it."""
    speedup = 1.2 if outcome == "kept" else None
    measured = Measurement(
        problem="p", attempt=attempt, digest="00", outcome=outcome, origin="modelled", speedup=speedup
    )
    credit(store, ask(store), measured)


def test_an_unknown_answer_is_an_error(store: Store, kept: Measurement):
    with pytest.raises(MemoryInvalid, match="shown-none"):
        credit(store, "shown-none", kept)


def test_all_attempts_under_one_answer_are_one_use_and_the_best_counts(store: Store, lesson: Draft, kept: Measurement):
    stored = add_experience(store, lesson).id
    answer = ask(store)
    for attempt, outcome in enumerate(["wrong", "wrong", "kept", "reverted"]):
        credit(store, answer, kept.model_copy(update={"attempt": attempt, "outcome": outcome}))
    record = store.evidence(stored)
    assert (record.kept, record.wrong, record.reverted, record.uses) == (1, 0, 0, 1)


def test_the_same_outcome_twice_is_one_row(store: Store, lesson: Draft, kept: Measurement):
    stored = add_experience(store, lesson).id
    answer = ask(store)
    credit(store, answer, kept)
    credit(store, answer, kept)
    with store.reading() as connection:
        rows = connection.execute("SELECT COUNT(*) FROM evidence WHERE experience = ?", (stored,)).fetchone()
    assert rows[0] == 1


def test_a_plan_that_names_a_technique_credits_only_that(store: Store, lesson: Draft, kept: Measurement):
    loads = add_experience(store, lesson.model_copy(update={"tags": Tags(technique="reload_avoidance")})).id
    other = Draft(
        kind="fact",
        title="Gain of fusing",
        when_to_use="many steps",
        advice="Fuse them.",
        tags=Tags(technique="fusion"),
    )
    fuses = add_experience(store, other).id
    assert credit(store, ask(store), kept, plan="Fuse the scaling with the product") == (fuses,)
    assert set(credit(store, ask(store), kept)) == {loads, fuses}
    assert credit(store, ask(store), kept, plan=f"as in {loads}") == (loads,)


def test_a_pitfall_takes_no_credit(store: Store, lesson: Draft, kept: Measurement):
    stored = add_experience(store, lesson.model_copy(update={"kind": "pitfall"})).id
    assert credit(store, ask(store), kept) == ()
    assert store.evidence(stored).uses == 0


def test_two_uses_that_end_wrong_make_a_pitfall(store: Store, lesson: Draft):
    stored = add_experience(store, lesson).id
    use(store, "wrong", 1)
    assert store.get(stored).kind == "fact"
    use(store, "wrong", 2)
    assert store.get(stored).kind == "pitfall"


def test_documented_advice_does_not_become_a_pitfall(store: Store, lesson: Draft):
    stored = add_experience(store, lesson, provenance="documented").id
    use(store, "wrong", 1)
    use(store, "wrong", 2)
    assert store.get(stored).kind == "fact"


def test_two_successes_in_five_stay_and_in_six_retire(store: Store, lesson: Draft):
    stored = add_experience(store, lesson).id
    outcomes: list[Outcome] = ["kept", "kept", "reverted", "reverted", "reverted"]
    for attempt, outcome in enumerate(outcomes):
        use(store, outcome, attempt)
    assert store.get(stored).active
    use(store, "reverted", 6)
    assert store.get(stored).retired_at is not None
    assert query(store, Situation(text="gain")).experiences == ()


def test_undecided_attempts_are_no_uses(store: Store, lesson: Draft):
    stored = add_experience(store, lesson).id
    for attempt in range(8):
        use(store, "undecided", attempt)
    assert store.get(stored).active
    assert store.evidence(stored).undecided == 8


def test_failures_bear_out_a_pitfall(store: Store, lesson: Draft, kept: Measurement):
    reverted = kept.model_copy(update={"outcome": "reverted"})
    stored = add_experience(store, lesson.model_copy(update={"kind": "pitfall"}), measured=reverted).id
    record = store.evidence(stored)
    assert record.standing("pitfall") > 0.5 > record.standing("fact")


def test_the_lower_bound_grows_with_evidence():
    assert lower_bound(0, 0) == 0
    assert lower_bound(1, 5) < 0.2 < lower_bound(2, 5)
    assert lower_bound(4, 10) < lower_bound(40, 100) < 0.4


def test_a_sweep_changes_nothing_where_every_rule_was_applied(store: Store, lesson: Draft):
    add_experience(store, lesson)
    use(store, "wrong", 1)
    use(store, "wrong", 2)
    assert sweep(store) == []


def test_what_fails_at_another_problem_of_that_name_takes_nothing_back(store: Store, lesson: Draft, kept: Measurement):
    ours, theirs = (kept.model_copy(update={"version": version}) for version in ("a" * 64, "b" * 64))
    learnt = add_experience(store, lesson.model_copy(update={"kind": "speedup"}), measured=ours).id
    assert credits_of(store, kept.problem, theirs.version) == []
    assert condemn(store, theirs) == ()
    assert store.evidence(learnt).kept == 1
    assert condemn(store, ours) == (learnt,)


def test_evidence_that_shows_nothing_after_all_is_gone_from_the_record_and_from_what_is_exported(
    store: Store, lesson: Draft, kept: Measurement
):
    learnt = add_experience(store, lesson.model_copy(update={"kind": "speedup"}), measured=kept).id
    other = kept.model_copy(update={"attempt": 4, "digest": "cd" * 32, "speedup": 1.31})
    add_experience(store, lesson, measured=other)
    assert withdraw(store, other) == (learnt,)
    assert withdraw(store, other) == ()
    assert credits_of(store, kept.problem) == [kept]
    assert other.digest not in "".join(export_lines(store))
    assert store.evidence(learnt).speedup == kept.speedup
    assert store.get(learnt).active
    withdraw(store, kept)
    assert store.evidence(learnt).line == "untried"
    assert store.get(learnt).retired_at is not None


def test_a_kernel_that_is_wrong_is_wrong_wherever_it_was_credited(store: Store, lesson: Draft, kept: Measurement):
    stored = add_experience(store, lesson, measured=kept).id
    credit(store, ask(store), kept)
    assert condemn(store, kept) == (stored,)
    record = store.evidence(stored)
    assert (record.kept, record.wrong, record.speedup) == (0, 1, None)
    assert credits_of(store, kept.problem) == []
