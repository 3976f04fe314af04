"""Storing a lesson: made harmless, checked, and not stored twice. No number in it comes from the author."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final, Literal

from nki_anvil.backends.errors import MemoryInvalid
from nki_anvil.backends.job import Record
from nki_anvil.memory.curation import curate
from nki_anvil.memory.experience import PROVENANCE_OF, Draft, Experience, Measurement, Provenance
from nki_anvil.memory.hygiene import claim_in, encoded, order_in, remarks, without_markup
from nki_anvil.memory.search import candidates
from nki_anvil.memory.store import Store, add_evidence, evidence_of, fetch, insert
from nki_anvil.memory.tagging import plain, tagged
from nki_anvil.memory.text import binary, clean, jaccard, words

LIMITS: Final = {"title": 120, "when_to_use": 500, "advice": 2000, "slow_snippet": 4000, "fast_snippet": 4000}
"""Characters per field: five experiences with their snippets cut still fit a tool's answer."""

REQUIRED: Final = ("title", "when_to_use", "advice")

MERGED: Final = 0.8
"""Token Jaccard above which two texts of one family and kind say the same."""

SIMILAR: Final = 0.5

Status = Literal["added", "merged", "similar"]


class Added(Record):
    """What became of a lesson. ``similar`` lists what says nearly the same, for the author to supersede."""

    status: Status
    id: str
    similar: tuple[str, ...] = ()


def add_experience(
    store: Store,
    draft: Draft,
    *,
    measured: Measurement | None = None,
    supersedes: str | None = None,
    provenance: Provenance | None = None,
    source: str = "",
) -> Added:
    """Store a lesson, or the evidence for one that is known already.

    ``measured`` is what the server recorded of the attempt that the lesson comes from; a speedup cannot do without one
    that was kept. Only who vouches for a ``provenance`` may give figures in the text.
    A lesson that resembles others is stored all the same, with status ``similar``: adding it once more
    with ``supersedes`` lets it take another's place. Raises MemoryInvalid.
    """
    draft = tagged(checked(draft))
    if provenance is None:
        _unclaimed(draft)
    if draft.kind == "speedup":
        _earned(measured)
    provenance = provenance or (PROVENANCE_OF[measured.origin] if measured else "asserted")
    source = source or (f"{measured.problem}, attempt {measured.attempt}" if measured else "")
    lesson = Experience(
        **draft.model_dump(), id=identity(draft), provenance=provenance, source=source, created_at=store.clock()
    )
    with store.writing() as connection:
        added = place(connection, lesson, [measured] if measured else [], replaced=supersedes)
        if supersedes is not None:
            _supersede(connection, supersedes, added.id, measured)
    return added


def identity(draft: Draft) -> str:
    """The id of a lesson, the same wherever it is stored: part of its content's hash."""
    return "exp-" + draft.content_hash()[:12]


def checked(draft: Draft) -> Draft:
    """The draft without control characters and markup.

    Tags that are no tags are left out. Raises MemoryInvalid where a field is empty, too long or not text, or gives
    orders to whoever reads it.
    """
    fields = {name: getattr(draft, name) for name in LIMITS}
    for name, text in fields.items():
        if binary(text):
            raise MemoryInvalid(f"The {name} is not text.", "Write it in words.")
        text = clean(text)
        if len(text) > LIMITS[name]:
            raise MemoryInvalid(
                f"The {name} has {len(text)} characters; at most {LIMITS[name]} are kept.", "Shorten it."
            )
        fields[name] = harmless(name, text)
        if name in REQUIRED and not fields[name]:
            raise MemoryInvalid(f"The {name} is empty.", "An experience says when it applies and what to do.")
    return draft.model_copy(update={**fields, "tags": plain(draft.tags)})


def harmless(name: str, text: str) -> str:
    """The field without markup; raises MemoryInvalid where it addresses its reader or hides what it says."""
    if blob := encoded(text):
        raise MemoryInvalid(f"The {name} hides something in an encoding ({blob}...).", "Say it in words.")
    if order := order_in(text):
        raise MemoryInvalid(
            f"The {name} addresses its reader rather than a kernel ({order!r}).", "Say only what to do to a kernel."
        )
    return text if name.endswith("snippet") else without_markup(text)


def _unclaimed(draft: Draft) -> None:
    said = {name: getattr(draft, name) for name in LIMITS}
    for name, text in said.items():
        if claim := claim_in(remarks(text) if name.endswith("snippet") else text):
            raise MemoryInvalid(
                f"The {name} gives a figure that is in no record ({claim!r}).",
                "Leave figures out: the attempt's are shown with the experience.",
            )


def _earned(measured: Measurement | None) -> None:
    if measured is None:
        raise MemoryInvalid(
            "A speedup needs the attempt it was measured on.", "Name a kept attempt, or add it as kind 'fact'."
        )
    if measured.outcome != "kept" or measured.speedup is None or measured.speedup <= 1:
        raise MemoryInvalid(
            f"Attempt {measured.attempt} of {measured.problem} did not make the kernel faster ({measured.outcome}).",
            "Name an attempt that was kept with a speedup, or add the lesson as a pitfall or a fact.",
        )


def place(
    connection: sqlite3.Connection, lesson: Experience, evidence: Sequence[Measurement], *, replaced: str | None = None
) -> Added:
    """Insert a lesson, or merge it into the one that says the same; its evidence goes where it went."""
    added = _settle(connection, lesson, replaced)
    for measured in evidence:
        add_evidence(connection, added.id, measured, lesson.created_at)
    if evidence:
        curate(connection, added.id, lesson.created_at)
    return added


def _settle(connection: sqlite3.Connection, lesson: Experience, replaced: str | None) -> Added:
    same = "SELECT id FROM experiences WHERE content_hash = ?"
    row = connection.execute(same, (lesson.content_hash(),)).fetchone()
    if row is not None:
        return Added(status="merged", id=row["id"])
    alike = _alike(connection, lesson, replaced)
    twins = [other for other, share in alike if share > MERGED and other.kind == lesson.kind]
    said = {other.id for other in twins if _hearsay_beside(other, lesson)}
    twin = next((other.id for other in twins if other.id not in said), None)
    if twin is not None and replaced is None:
        return Added(status="merged", id=twin)
    insert(connection, lesson)
    for other in said:
        _replace(connection, other, lesson.id)
    similar = tuple(other.id for other, _ in alike if other.id not in said)
    return Added(status="similar" if similar else "added", id=lesson.id, similar=similar)


def _hearsay_beside(other: Experience, lesson: Experience) -> bool:
    """Whether it only says nearly what was measured now: its own words are not what the evidence is for."""
    return other.provenance == "asserted" and lesson.provenance in PROVENANCE_OF.values()


def _alike(connection: sqlite3.Connection, lesson: Experience, replaced: str | None) -> list[tuple[Experience, float]]:
    """Active experiences of the same family with a similar text, the most similar first."""
    said = _vocabulary(lesson)
    found: list[tuple[Experience, float]] = []
    for candidate in candidates(connection, " ".join((lesson.title, lesson.when_to_use, lesson.advice))):
        other = candidate.experience
        share = jaccard(said, _vocabulary(other))
        if share >= SIMILAR and other.id != replaced and _related(lesson, other):
            found.append((other, share))
    return sorted(found, key=lambda pair: -pair[1])


def _related(first: Experience, second: Experience) -> bool:
    one, two = first.tags.families, second.tags.families
    return bool({*one} & {*two}) or not (one or two)


def _vocabulary(experience: Experience) -> set[str]:
    return set(words(" ".join((experience.title, experience.when_to_use, experience.advice))))


def _supersede(connection: sqlite3.Connection, old: str, new: str, measured: Measurement | None) -> None:
    if old == new:
        raise MemoryInvalid(f"Experience {old} says the same already.", "Leave out supersedes.")
    fetch(connection, old)
    if (measured is None or measured.outcome != "kept") and evidence_of(connection, [old])[old].kept:
        raise MemoryInvalid(
            f"Experience {old} rests on attempts that were kept, and what would take its place on none.",
            "Name the attempt that shows it, or leave out supersedes: both are kept then.",
        )
    _replace(connection, old, new)


def _replace(connection: sqlite3.Connection, old: str, new: str) -> None:
    connection.execute("UPDATE experiences SET superseded_by = ? WHERE id = ?", (new, old))
