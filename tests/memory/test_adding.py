import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from nki_anvil.backends.errors import MemoryInvalid
from nki_anvil.memory.adding import LIMITS, add_experience
from nki_anvil.memory.experience import Draft, Measurement, Outcome
from nki_anvil.memory.store import Store


def test_a_new_lesson_is_added_and_tagged_from_its_own_words(store: Store, lesson: Draft):
    added = add_experience(store, lesson)
    stored = store.get(added.id)
    assert (added.status, added.similar) == ("added", ())
    assert stored.tags.families == ("norm",)
    assert stored.provenance == "asserted"
    assert store.evidence(added.id).line == "untried"


def test_a_speedup_without_an_attempt_is_refused(store: Store, lesson: Draft):
    with pytest.raises(MemoryInvalid, match="needs the attempt"):
        add_experience(store, lesson.model_copy(update={"kind": "speedup"}))
    assert store.count() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "reverted", "speedup": 0.7, "speedup_low": None, "speedup_high": None},
        {"outcome": "wrong", "speedup": None, "speedup_low": None, "speedup_high": None},
        {"speedup": None, "speedup_low": None, "speedup_high": None},
        {"speedup": 0.99, "speedup_low": 0.98, "speedup_high": 1.0},
    ],
)
def test_a_speedup_must_have_been_kept_and_faster(
    store: Store, lesson: Draft, kept: Measurement, change: dict[str, object]
):
    with pytest.raises(MemoryInvalid, match="did not make the kernel faster"):
        add_experience(store, lesson.model_copy(update={"kind": "speedup"}), measured=kept.model_copy(update=change))


def test_the_numbers_of_a_speedup_are_those_of_its_attempt(store: Store, lesson: Draft, kept: Measurement):
    added = add_experience(store, lesson.model_copy(update={"kind": "speedup"}), measured=kept)
    record = store.evidence(added.id)
    assert (record.kept, record.speedup, record.speedup_low, record.speedup_high) == (1, 1.3, 1.25, 1.35)
    assert store.get(added.id).provenance == "modelled"
    assert store.get(added.id).source == "rmsnorm, attempt 3"


def test_a_speedup_outside_its_interval_cannot_be_built(kept: Measurement):
    with pytest.raises(ValidationError, match="outside its interval"):
        Measurement.model_validate(kept.model_dump() | {"speedup": 2.0})


def test_the_same_lesson_again_is_evidence_for_the_first(store: Store, lesson: Draft, kept: Measurement):
    first = add_experience(store, lesson)
    shouted = lesson.model_copy(update={"title": lesson.title.upper() + "  "})
    again = add_experience(store, shouted, measured=kept)
    assert (again.status, again.id) == ("merged", first.id)
    assert store.evidence(first.id).kept == 1
    assert store.count() == 1


def test_the_same_attempt_counts_once(store: Store, lesson: Draft, kept: Measurement):
    first = add_experience(store, lesson, measured=kept)
    add_experience(store, lesson, measured=kept)
    assert store.evidence(first.id).kept == 1


def test_almost_the_same_words_of_one_family_are_merged(store: Store, lesson: Draft):
    first = add_experience(store, lesson)
    again = add_experience(store, lesson.model_copy(update={"advice": lesson.advice + " Always."}))
    assert (again.status, again.id) == ("merged", first.id)


def test_a_pitfall_is_never_merged_into_advice(store: Store, lesson: Draft):
    first = add_experience(store, lesson)
    warning = lesson.model_copy(update={"kind": "pitfall", "advice": lesson.advice + " Never."})
    again = add_experience(store, warning)
    assert (again.status, again.similar) == ("similar", (first.id,))
    assert store.get(again.id).kind == "pitfall"


def test_a_lesson_that_resembles_another_is_stored_and_says_so(store: Store, lesson: Draft):
    first = add_experience(store, lesson)
    other = lesson.model_copy(
        update={
            "title": "Load the gain once, on all partitions",
            "advice": "Keep the gain vector in SBUF, loaded before the loop.",
        }
    )
    second = add_experience(store, other)
    assert (second.status, second.similar) == ("similar", (first.id,))
    assert store.count() == 2


def test_adding_it_once_more_with_supersedes_lets_it_take_the_others_place(store: Store, lesson: Draft):
    first = add_experience(store, lesson)
    other = lesson.model_copy(
        update={"advice": "Broadcast the gain over all partitions in a single transfer outside the loop."}
    )
    second = add_experience(store, other)
    again = add_experience(store, other, supersedes=first.id)
    assert again.id == second.id
    assert store.get(first.id).superseded_by == second.id
    assert [one.id for one in store.experiences()] == [second.id]


def test_what_was_kept_gives_way_only_to_what_rests_on_an_attempt(store: Store, lesson: Draft, kept: Measurement):
    old = add_experience(store, lesson.model_copy(update={"kind": "speedup"}), measured=kept).id
    other = lesson.model_copy(update={"title": "Nothing of that helps", "advice": "Leave transfers as they are."})
    with pytest.raises(MemoryInvalid, match="rests on attempts that were kept"):
        add_experience(store, other, supersedes=old)
    assert [one.id for one in store.experiences()] == [old]
    add_experience(store, other, measured=kept.model_copy(update={"attempt": 4}), supersedes=old)
    assert store.get(old).superseded_by


def test_a_lesson_cannot_supersede_itself_or_nothing(store: Store, lesson: Draft):
    first = add_experience(store, lesson)
    with pytest.raises(MemoryInvalid, match="says the same"):
        add_experience(store, lesson, supersedes=first.id)
    with pytest.raises(MemoryInvalid, match="no experience"):
        add_experience(store, lesson.model_copy(update={"title": "Another"}), supersedes="exp-0")


@pytest.mark.parametrize("field", LIMITS)
def test_a_field_that_is_too_long_is_refused_with_its_length(store: Store, lesson: Draft, field: str):
    with pytest.raises(MemoryInvalid, match=f"{field} has {LIMITS[field] + 1} characters"):
        add_experience(store, lesson.model_copy(update={field: "x" * (LIMITS[field] + 1)}))


@pytest.mark.parametrize("field", ["title", "when_to_use", "advice"])
def test_a_lesson_says_when_it_applies_and_what_to_do(store: Store, lesson: Draft, field: str):
    with pytest.raises(MemoryInvalid, match=f"{field} is empty"):
        add_experience(store, lesson.model_copy(update={field: " \u200b\n"}))


def test_binary_data_is_refused(store: Store, lesson: Draft):
    with pytest.raises(MemoryInvalid, match="not text"):
        add_experience(store, lesson.model_copy(update={"fast_snippet": "\x7fELF\x02\x01\x01\x00\x00\x00"}))


def test_hidden_characters_are_stripped(store: Store, lesson: Draft):
    hidden = lesson.model_copy(
        update={"advice": "Load\x1b[31m the gain\u202e once\u200b and keep it for every tile of the rows."}
    )
    assert (
        store.get(add_experience(store, hidden).id).advice
        == "Load[31m the gain once and keep it for every tile of the rows."
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=st.text(min_size=1, max_size=60), advice=st.text(min_size=1, max_size=200))
def test_any_text_is_either_stored_and_found_again_or_refused(store: Store, title: str, advice: str):
    try:
        added = add_experience(store, Draft(kind="fact", title=title, when_to_use="always", advice=advice))
    except MemoryInvalid:
        return
    assert all(
        character in "\n\t" or character.isprintable() or not character.isascii()
        for character in store.get(added.id).advice
    )


@pytest.mark.parametrize("outcome", ["wrong", "reverted", "undecided"])
def test_what_rests_on_an_attempt_that_was_not_kept_takes_no_place_of_what_was(
    store: Store, lesson: Draft, kept: Measurement, outcome: Outcome
):
    old = add_experience(store, lesson, measured=kept).id
    other = Draft(kind="fact", title="Nothing is known", when_to_use="A product is slow.", advice="Wait for it.")
    lost = Measurement(problem="p", attempt=5, digest="cd" * 32, outcome=outcome, origin="modelled")
    with pytest.raises(MemoryInvalid, match="rests on attempts that were kept"):
        add_experience(store, other, measured=lost, supersedes=old)
    assert store.get(old).active


def test_what_was_measured_is_no_evidence_for_other_words_that_nobody_measured(
    store: Store, lesson: Draft, kept: Measurement
):
    words = "Load the gain before the loop, keep it on all partitions, and read it for every tile of rows as well."
    theirs = lesson.model_copy(update={"advice": words, "fast_snippet": "gain = 1"})
    ours = lesson.model_copy(update={"advice": words.replace("and read", "never read")})
    old = add_experience(store, theirs)
    new = add_experience(store, ours, measured=kept)
    assert (new.status, store.get(old.id).superseded_by) == ("added", new.id)
    assert store.evidence(old.id).kept == 0
    assert store.evidence(new.id).kept == 1
