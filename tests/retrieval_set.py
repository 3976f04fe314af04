"""The retrieval set: situations in people's own words, and how many of the starters that fit come up among five."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from nki_anvil.memory.retrieval import Situation, query
from nki_anvil.memory.store import Store

SET = Path(__file__).with_suffix(".toml")
SHOWN = 5


@dataclass(frozen=True)
class Asked:
    """One situation, as ``query_memory`` is asked, with the titles that should come up and those that did."""

    situation: Situation
    expected: tuple[str, ...]
    found: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(title for title in self.expected if title not in self.found)


def ask_all(store: Store) -> list[Asked]:
    """Every situation of the set, asked of a memory that holds the starters."""
    return [_ask(store, entry) for entry in tomllib.loads(SET.read_text(encoding="utf-8"))["situation"]]


def recall(asked: list[Asked]) -> float:
    """Share of the expected experiences that came up, 0 to 1."""
    expected = sum(len(one.expected) for one in asked)
    return 1 - sum(len(one.missing) for one in asked) / expected


def _ask(store: Store, entry: dict[str, object]) -> Asked:
    family = entry.get("op_family")
    situation = Situation(
        text=str(entry["text"]),
        bottleneck=str(entry.get("bottleneck", "")),
        families=(str(family),) if family else (),
        chip="trn2",
        nki_version="0.7",
    )
    found = tuple(shown.experience.title for shown in query(store, situation, SHOWN).experiences)
    expected = entry["expected"]
    assert isinstance(expected, list)
    return Asked(situation, tuple(str(title) for title in expected), found)
