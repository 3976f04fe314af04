"""Outcomes go to the advice that was shown: what came of an attempt becomes evidence of what inspired it.

And are taken back where the kernel turns out to be wrong, or the one that it was compared with.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from nki_anvil.backends.errors import MemoryInvalid
from nki_anvil.memory.curation import curate
from nki_anvil.memory.experience import Experience, Measurement
from nki_anvil.memory.store import Store, add_evidence, fetch
from nki_anvil.memory.tagging import TECHNIQUES, ranked

_OF_KERNEL: Final = """problem = :problem AND version = :version AND attempt = :attempt AND digest = :digest
    AND origin = :origin"""
_BASELESS: Final = """UPDATE experiences SET retired_at = ? WHERE id = ? AND kind = 'speedup' AND retired_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM speedups WHERE speedups.experience = experiences.id)"""


def credit(store: Store, shown_id: str, measured: Measurement, *, plan: str = "") -> tuple[str, ...]:
    """Record the outcome of an attempt made under an answer of memory; returns the experiences it went to.

    Where the plan names one of the shown experiences or its technique, only those are meant; else all of them. Pitfalls
    take no credit: that they were avoided proves nothing. All attempts under one answer are one use, which counts as
    the best that came of it; the same outcome given twice counts once. Raises MemoryInvalid for an unknown answer.
    """
    with store.writing() as connection:
        shown = [one for one in _shown(connection, shown_id) if one.kind != "pitfall"]
        meant = [one for one in shown if _named(one, plan)] or shown
        for one in meant:
            if not _known(connection, one.id, shown_id, measured):
                add_evidence(connection, one.id, measured, store.clock(), use=shown_id)
                curate(connection, one.id, store.clock())
    return tuple(one.id for one in meant)


def credits_of(store: Store, problem: str, version: str = "") -> list[Measurement]:
    """What a problem's kernels are credited with by which some advice, or a lesson, stands or falls.

    Without a version as well: of those that were stored before it was kept, nobody knows whose they are.
    """
    columns = ", ".join(Measurement.model_fields)
    query = f"SELECT DISTINCT {columns} FROM standing WHERE problem = ? AND version IN (?, '') AND outcome IN ('kept', 'reverted')"  # noqa: S608, E501 - our own names
    with store.reading() as connection:
        return [Measurement.model_validate(dict(row)) for row in connection.execute(query, (problem, version))]


def condemn(store: Store, credited: Measurement) -> tuple[str, ...]:
    """Wherever a kernel is credited that is wrong after all, say so; returns the experiences that lost it.

    A speedup that no kept kernel bears out any more is retired.
    """
    query = f"SELECT DISTINCT experience, use FROM standing WHERE {_OF_KERNEL} AND outcome <> 'wrong'"  # noqa: S608 - our own names
    bare = {name: getattr(credited, name) for name in ("problem", "version", "attempt", "digest", "origin")}
    wrong = Measurement(**bare, outcome="wrong")
    with store.writing() as connection:
        rows = connection.execute(query, credited.model_dump()).fetchall()
        for row in rows:
            add_evidence(connection, row["experience"], wrong, store.clock(), use=row["use"])
        return _without(connection, rows, store.clock())


def withdraw(store: Store, credited: Measurement) -> tuple[str, ...]:
    """Takes out of every record what shows nothing after all; returns the experiences that lost it.

    A speedup that no kept kernel bears out any more is retired.
    """
    query = f"SELECT number, experience FROM standing WHERE {_OF_KERNEL} AND outcome = :outcome AND speedup IS :speedup"  # noqa: S608 - our own names
    with store.writing() as connection:
        rows = connection.execute(query, credited.model_dump()).fetchall()
        for row in rows:
            connection.execute("INSERT INTO withdrawn (evidence, at) VALUES (?, ?)", (row["number"], store.clock()))
        return _without(connection, rows, store.clock())


def _without(connection: sqlite3.Connection, lost: list[sqlite3.Row], at: float) -> tuple[str, ...]:
    """What becomes of the experiences that lost some of their evidence."""
    experiences = dict.fromkeys(row["experience"] for row in lost)
    for experience in experiences:
        curate(connection, experience, at)
        connection.execute(_BASELESS, (at, experience))
    return tuple(experiences)


def _shown(connection: sqlite3.Connection, shown_id: str) -> list[Experience]:
    query = "SELECT experience FROM shown WHERE answer = ? ORDER BY position"
    rows = connection.execute(query, (shown_id,)).fetchall()
    if not rows:
        raise MemoryInvalid(f"Nothing was shown under {shown_id!r}.", "Use the shown_id of a query_memory answer.")
    return [fetch(connection, row["experience"]) for row in rows]


def _named(experience: Experience, plan: str) -> bool:
    return experience.id in plan or experience.tags.technique in ranked(plan, TECHNIQUES)


def _known(connection: sqlite3.Connection, experience: str, use: str, measured: Measurement) -> bool:
    query = f"""SELECT 1 FROM evidence WHERE {_OF_KERNEL} AND outcome = :outcome
        AND experience = :experience AND use = :use AND number NOT IN (SELECT evidence FROM withdrawn)"""  # noqa: S608 - our own names
    key = measured.model_dump() | {"experience": experience, "use": use}
    return connection.execute(query, key).fetchone() is not None
