"""What to show in a situation: found by words, ranked by evidence, of different kinds, within a token budget."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from typing import Final

from nki_anvil.backends.job import Record
from nki_anvil.memory.experience import Evidence, Experience, Kind
from nki_anvil.memory.search import candidates
from nki_anvil.memory.store import Store, evidence_of
from nki_anvil.memory.tagging import families
from nki_anvil.memory.text import capped, clean, tokens

TOKENS: Final = 1500
"""Budget of an answer: a tool's result stays under about 2,000."""

SNIPPET: Final = 400
"""Characters of a snippet that an answer shows."""

FITTING: Final = 0.25
"""Share of the best relevance that a pitfall or an untried advice needs for the slot that is kept for it."""

MOST: Final = 20

ASKED: Final = 4000
"""Characters of a question that are read."""


class Situation(Record):
    """What one is looking at. Every field is optional; the text is a sentence or a few words."""

    text: str = ""
    families: tuple[str, ...] = ()
    bottleneck: str = ""
    engines: tuple[str, ...] = ()
    dtype: str = ""
    shape_class: str = ""
    error_code: str = ""
    chip: str = ""
    nki_version: str = ""
    kind: Kind | None = None

    def tags(self) -> set[str]:
        """The tags an experience can share."""
        single = (self.bottleneck, self.dtype, self.shape_class)
        return {word for word in (*self.families, *self.engines, *single) if word}

    def words(self) -> str:
        """What is looked for by words; engines and dtype only re-rank, since they stand in almost every experience."""
        return " ".join((self.error_code, *self.families, self.bottleneck, self.text))


class Shown(Record):
    """One experience of an answer, its snippets cut, with its record."""

    experience: Experience
    evidence: Evidence
    score: float

    @property
    def record(self) -> str:
        """In one line: whose word it is, and what came of it."""
        return self.experience.record(self.evidence)


class Answer(Record):
    """What was shown. ``shown_id`` names it, so that outcomes are credited; None where nothing was found."""

    experiences: tuple[Shown, ...] = ()
    shown_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Ranked:
    experience: Experience
    evidence: Evidence
    relevance: float
    score: float


def query(store: Store, situation: Situation, limit: int = 5, *, budget: int = TOKENS) -> Answer:
    """The experiences that fit a situation, best first: at most ``limit``, in at most ``budget`` tokens."""
    situation = _readable(situation)
    if not situation.families:
        situation = situation.model_copy(update={"families": families(situation.text)})
    with store.reading() as connection:
        ranked = _rank(connection, situation)
    chosen = _choose(ranked, max(1, min(limit, MOST)), mixed=situation.kind is None)
    shown = _within(chosen, budget)
    return Answer(experiences=tuple(shown), shown_id=_log(store, situation, shown) if shown else None)


def _readable(situation: Situation) -> Situation:
    """What was asked as text that can be searched and logged: whatever stands in it, and however long it is."""
    words = {
        name: capped(clean(value), ASKED) for name, value in situation if isinstance(value, str) and name != "kind"
    }
    lists = {name: tuple(capped(clean(word), ASKED) for word in getattr(situation, name)) for name in _LISTS}
    return situation.model_copy(update=words | lists)


_LISTS: Final = ("families", "engines")


def applies(advice: str, version: str) -> bool:
    """Whether advice tagged ``>=0.3``, ``beta1`` or nothing holds for an NKI version; an unknown version takes all."""
    if not advice or not version:
        return True
    if "beta1" in (advice, version):
        return advice == version
    return _numbers(version) >= _numbers(advice)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def _rank(connection: sqlite3.Connection, situation: Situation) -> list[_Ranked]:
    found = candidates(connection, situation.words(), kind=situation.kind, chip=situation.chip)
    found = [one for one in found if applies(one.experience.tags.nki_version, situation.nki_version)]
    records = evidence_of(connection, [one.experience.id for one in found])
    ranked = [
        _Ranked(one.experience, record, one.relevance, _score(one.experience, record, one.relevance, situation))
        for one in found
        for record in (records[one.experience.id],)
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.experience.id))


def _score(experience: Experience, record: Evidence, relevance: float, situation: Situation) -> float:
    wanted = situation.tags()
    overlap = len(wanted.intersection(experience.tags.words())) / len(wanted) if wanted else 0.0
    return relevance * record.standing(experience.kind) * (1 + overlap)


def _choose(ranked: list[_Ranked], limit: int, *, mixed: bool) -> list[_Ranked]:
    """The best, one of each technique; among three or more, one pitfall and one that nobody has tried."""
    fresh = _one_per_technique(ranked)
    chosen = fresh[:limit]
    if mixed and limit >= 3:
        spare = [one for one in fresh[limit:] if one.relevance >= FITTING]
        pitfalls = [one for one in spare if one.experience.kind == "pitfall"]
        untried = [one for one in spare if one.experience.kind != "pitfall" and not one.evidence.uses]
        if pitfalls and not any(one.experience.kind == "pitfall" for one in chosen):
            chosen[-1] = pitfalls[0]
        if untried and all(one.evidence.uses for one in chosen):
            chosen[-2] = untried[0]
    return sorted(chosen, key=lambda one: -one.score)


def _one_per_technique(ranked: list[_Ranked]) -> list[_Ranked]:
    """A pitfall does not take the place of advice on the same technique, nor the other way round."""
    seen: set[tuple[bool, str]] = set()
    fresh: list[_Ranked] = []
    for one in ranked:
        technique = one.experience.tags.technique
        key = (one.experience.kind == "pitfall", technique)
        if not technique or key not in seen:
            fresh.append(one)
            seen.add(key)
    return fresh


def _within(chosen: list[_Ranked], budget: int) -> list[Shown]:
    """As many as fit the budget, but at least one."""
    shown: list[Shown] = []
    for one in chosen:
        snippets = {name: capped(getattr(one.experience, name), SNIPPET) for name in ("slow_snippet", "fast_snippet")}
        item = Shown(
            experience=one.experience.model_copy(update=snippets), evidence=one.evidence, score=round(one.score, 4)
        )
        budget -= _cost(item)
        if budget >= 0 or not shown:
            shown.append(item)
    return shown


def _cost(item: Shown) -> int:
    said = item.experience
    return tokens(
        f"{said.id}{said.title}{said.when_to_use}{said.advice}{said.slow_snippet}{said.fast_snippet}"
        f"{said.source}{' '.join(said.tags.words())}{item.record}"
    )


def _log(store: Store, situation: Situation, shown: list[Shown]) -> str:
    answer = "shown-" + store.new_id()
    with store.writing() as connection:
        connection.execute(
            "INSERT INTO answers (id, situation, at) VALUES (?, ?, ?)",
            (answer, situation.model_dump_json(exclude_defaults=True), store.clock()),
        )
        connection.executemany(
            "INSERT INTO shown (answer, experience, position) VALUES (?, ?, ?)",
            [(answer, item.experience.id, position) for position, item in enumerate(shown)],
        )
    return answer
