from nki_anvil.memory.adding import add_experience
from nki_anvil.memory.credit import credit
from nki_anvil.memory.experience import Draft, Kind, Measurement, Tags
from nki_anvil.memory.retrieval import TOKENS, Situation, applies, query
from nki_anvil.memory.store import Store
from nki_anvil.memory.text import tokens

WORDS = ("apples", "pears", "plums", "figs", "dates", "limes")


def add(
    store: Store,
    title: str,
    *,
    kind: Kind = "fact",
    measured: Measurement | None = None,
    advice: str = "",
    **tags: object,
) -> str:
    draft = Draft(
        kind=kind, title=title, when_to_use="", advice=advice or f"Advice of {title}", tags=Tags.model_validate(tags)
    )
    return add_experience(store, draft.model_copy(update={"when_to_use": f"use of {title}"}), measured=measured).id


def ids(store: Store, **situation: object) -> list[str]:
    return [one.experience.id for one in query(store, Situation.model_validate(situation)).experiences]


def test_an_empty_memory_shows_nothing_and_names_no_answer(store: Store):
    answer = query(store, Situation(text="anything"))
    assert answer.experiences == ()
    assert answer.shown_id is None


def test_the_advice_that_fits_comes_first(store: Store):
    add(store, "Descriptor sizes", technique="a")
    fitting = add(store, "Softmax maximum", technique="b")
    add(store, "Matmul banks", technique="c")
    assert ids(store, text="softmax is slow: the maximum takes long")[0] == fitting


def test_inflected_words_are_found(store: Store):
    fitting = add(store, "Transposing blocks")
    assert ids(store, text="a transposed block") == [fitting]


def test_a_situation_without_words_shows_the_newest(store: Store):
    first, second = add(store, "First thing", technique="a"), add(store, "Second thing", technique="b")
    assert set(ids(store)) == {first, second}


def test_punctuation_and_operators_are_only_words(store: Store):
    fitting = add(store, "nisa.activation and friends")
    assert ids(store, text='NEAR("a" b) OR * AND "nisa.activation" ^x: -y') == [fitting]


def test_advice_that_was_kept_comes_before_advice_that_was_not(store: Store, kept: Measurement):
    reverted = kept.model_copy(update={"outcome": "reverted"})
    bad = add(store, "Blocking of columns", measured=reverted, technique="a")
    good = add(store, "Blocking of rows", measured=kept, technique="b")
    assert ids(store, text="blocking") == [good, bad]


def test_shared_tags_lift_an_experience(store: Store):
    other = add(store, "Banks alternate", families=("matmul",), bottleneck="memory", technique="a")
    fitting = add(store, "Banks rotate", families=("matmul",), bottleneck="compute", technique="b")
    assert ids(store, text="banks", families=("matmul",), bottleneck="compute") == [fitting, other]


def test_one_technique_is_shown_once(store: Store):
    for name in ("one", "two", "three"):
        add(store, f"Prefetch {name}", technique="double_buffering")
    assert len(ids(store, text="prefetch")) == 1


def test_a_slot_is_kept_for_a_pitfall(store: Store):
    for word in WORDS:
        add(store, f"Gather gather gather {word}", technique=word)
    pitfall = add(store, "Wrong gather index order", kind="pitfall")
    shown = query(store, Situation(text="gather"), limit=3).experiences
    assert len(shown) == 3
    assert pitfall in [one.experience.id for one in shown]


def test_a_slot_is_kept_for_something_untried(store: Store, kept: Measurement):
    for word in WORDS:
        add(store, f"Gather gather gather {word}", technique=word, measured=kept)
    untried = add(store, "Another way to gather indices", technique="fresh")
    shown = query(store, Situation(text="gather"), limit=3).experiences
    assert untried in [one.experience.id for one in shown]


def test_a_kind_that_is_asked_for_is_the_only_one(store: Store):
    add(store, "Gather fast")
    pitfall = add(store, "Gather wrong", kind="pitfall")
    assert ids(store, text="gather", kind="pitfall") == [pitfall]


def test_advice_for_another_chip_is_not_shown(store: Store):
    add(store, "Gather on another chip", chip="trn3")
    here = add(store, "Gather here", chip="trn2")
    anywhere = add(store, "Gather anywhere", technique="x")
    assert set(ids(store, text="gather", chip="trn2")) == {here, anywhere}


def test_advice_that_names_an_api_is_shown_where_that_api_exists():
    assert applies(">=0.3", "0.7")
    assert not applies(">=0.6", "0.3")
    assert applies("beta1", "beta1")
    assert not applies(">=0.3", "beta1")
    assert applies("", "beta1")
    assert applies(">=0.3", "")


def test_superseded_advice_is_not_shown(store: Store, lesson: Draft):
    old = add_experience(store, lesson).id
    new = add_experience(
        store, lesson.model_copy(update={"advice": "Something else entirely, in other words"}), supersedes=old
    ).id
    assert ids(store, text="gain") == [new]


def test_an_answer_stays_within_its_budget(store: Store):
    for word in WORDS:
        long = " ".join(f"{word}{number}" for number in range(180))
        add(store, f"Gather {word}", technique=word, advice=long)
    answer = query(store, Situation(text="gather"), limit=8)
    spent = sum(tokens(one.experience.advice + one.experience.title) for one in answer.experiences)
    assert 1 <= len(answer.experiences) < len(WORDS)
    assert spent <= TOKENS


def test_one_experience_is_shown_even_if_it_is_over_the_budget(store: Store):
    add(store, "Gather")
    assert len(query(store, Situation(text="gather"), budget=1).experiences) == 1


def test_long_snippets_are_shown_in_part_and_stored_whole(store: Store):
    draft = Draft(kind="fact", title="Gather", when_to_use="gather", advice="gather", slow_snippet="x = 1\n" * 300)
    stored = add_experience(store, draft).id
    shown = query(store, Situation(text="gather")).experiences[0].experience
    assert len(shown.slow_snippet) == 400
    assert len(store.get(stored).slow_snippet) > 1700


def test_what_was_shown_can_be_credited(store: Store, kept: Measurement):
    stored = add(store, "Gather")
    answer = query(store, Situation(text="gather"))
    assert answer.shown_id is not None
    credit(store, answer.shown_id, kept)
    assert store.evidence(stored).kept == 1


def test_two_answers_have_two_names(store: Store):
    add(store, "Gather")
    assert query(store, Situation(text="gather")).shown_id != query(store, Situation(text="gather")).shown_id
