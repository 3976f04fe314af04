"""Finding rows by words: the full-text query and its candidates, best first. It must not know why one asks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from nki_anvil.memory.experience import Experience
from nki_anvil.memory.store import as_experience
from nki_anvil.memory.tagging import FIELD
from nki_anvil.memory.text import words

TERMS: Final = 24
"""Words of a text that are considered, the field's own before others."""

RANKED: Final = 2500
"""Rows that are ranked for one text: ranking costs a microsecond or two each. Words are taken from the rarest on until
they stand in this many rows; what stands in more would hardly change the order."""

CANDIDATES: Final = 60
"""Rows that are looked at closer: enough for five of different techniques, few enough to be quick."""

_WIDE: Final = 10
"""How many times more rows are ranked than looked at, for what is retired or of another kind or chip."""

_FOUND: Final = """WITH found AS (
        SELECT rowid AS number, -rank AS relevance FROM experiences_text
        WHERE experiences_text MATCH :match AND rank MATCH 'bm25(4.0, 3.0, 3.0, 1.0)'
        ORDER BY rank LIMIT :limit * :wide)
    SELECT e.*, relevance FROM found JOIN experiences e USING (number)
    WHERE e.retired_at IS NULL AND e.superseded_by IS NULL
        AND (:kind IS NULL OR e.kind = :kind) AND (e.chip = '' OR :chip = '' OR e.chip = :chip)
    ORDER BY relevance DESC LIMIT :limit"""
"""The weights are those of title, when_to_use, tags and advice."""

_NEWEST: Final = """SELECT *, 1.0 AS relevance FROM experiences
    WHERE retired_at IS NULL AND superseded_by IS NULL
        AND (:kind IS NULL OR kind = :kind) AND (chip = '' OR :chip = '' OR chip = :chip)
    ORDER BY number DESC LIMIT :limit"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An experience and how well its words fit, 1 for the best of an answer."""

    experience: Experience
    relevance: float


def telling(connection: sqlite3.Connection, terms: Iterable[str]) -> list[str]:
    """The terms that tell rows apart: known ones, the rarest first, as many as can be ranked, but at least one."""
    distinct = sorted(dict.fromkeys(terms), key=lambda term: term not in FIELD)[:TERMS]
    counted = sorted((_rows(connection, term), term) for term in distinct)
    known = [(rows, term) for rows, term in counted if rows]
    totals = accumulate(rows for rows, _ in known)
    return [term for (_, term), total in zip(known, totals, strict=True) if total <= RANKED] or [
        t for _, t in known[:1]
    ]


def _rows(connection: sqlite3.Connection, term: str) -> int:
    query = "SELECT COUNT(*) FROM (SELECT 1 FROM experiences_text WHERE experiences_text MATCH ? LIMIT ?)"
    return int(connection.execute(query, (match([term]), RANKED + 1)).fetchone()[0])


def match(terms: Iterable[str]) -> str:
    """A full-text expression: each term quoted, any of them enough."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def candidates(
    connection: sqlite3.Connection, text: str, *, kind: str | None = None, chip: str = "", limit: int = CANDIDATES
) -> list[Candidate]:
    """Active experiences that share a word with the text, best first; the newest where the text has no words."""
    said = words(text)
    expression = match(telling(connection, said))
    if said and not expression:
        return []
    arguments = {"match": expression, "kind": kind, "chip": chip, "limit": limit, "wide": _WIDE}
    rows = connection.execute(_FOUND if expression else _NEWEST, arguments).fetchall()
    best = max((row["relevance"] for row in rows), default=1.0) or 1.0
    return [Candidate(as_experience(row), row["relevance"] / best) for row in rows]
