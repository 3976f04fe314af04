"""What a kernel engineer asks is answered with what helps: the retrieval set, over the starters."""

from retrieval_set import SHOWN, ask_all, recall

from nki_anvil.memory.starters import load_starters
from nki_anvil.memory.store import Store


def test_nine_in_ten_of_the_experiences_that_fit_are_among_the_first_five(store: Store):
    load_starters(store)
    asked = ask_all(store)
    assert len(asked) >= 50
    assert recall(asked) >= 0.9, [(one.situation.text, one.missing) for one in asked if one.missing]


def test_every_expected_experience_is_a_starter_and_is_not_quoted_by_the_situation(store: Store):
    load_starters(store)
    titles = {experience.title for experience in store.experiences()}
    for one in ask_all(store):
        assert set(one.expected) <= titles
        assert one.expected
        assert len(one.found) <= SHOWN
        assert not any(title.lower() in one.situation.text.lower() for title in one.expected)


def test_most_starters_are_asked_for(store: Store):
    """A set that asks for a few only would say nothing of the others."""
    load_starters(store)
    asked_for = {title for one in ask_all(store) for title in one.expected}
    assert len(asked_for) / store.count() > 0.8
