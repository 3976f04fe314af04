"""Outcomes go to the advice that was shown: what came of an attempt becomes evidence of what inspired it.

And are taken back where the kernel turns out to be wrong.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from nki_anvil.backends.errors import MemoryInvalid
from nki_anvil.backends.run import Origin
from nki_anvil.memory.curation import curate
from nki_anvil.memory.experience import Experience, Measurement
from nki_anvil.memory.store import Store, add_evidence, fetch
from nki_anvil.memory.tagging import TECHNIQUES, ranked

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


def credits_of(store: Store, problem: str) -> list[tuple[int, str, Origin]]:
    """Attempt, digest and origin of a problem's kernels whose success some advice, or a lesson, is credited with."""
    query = "SELECT DISTINCT attempt, digest, origin FROM standing WHERE problem = ? AND outcome = 'kept'"
    with store.reading() as connection:
        return [tuple(row) for row in connection.execute(query, (problem,))]


def withdraw(store: Store, wrong: Measurement) -> tuple[str, ...]:
    """Wherever a kernel is credited that is wrong after all, say so; returns the experiences that lost it.

    A speedup that no kept kernel bears out any more is retired.
    """
    query = """SELECT DISTINCT experience, use FROM standing
        WHERE problem = ? AND attempt = ? AND digest = ? AND origin = ? AND outcome <> 'wrong'"""
    key = (wrong.problem, wrong.attempt, wrong.digest, wrong.origin)
    with store.writing() as connection:
        credited = [(row["experience"], row["use"]) for row in connection.execute(query, key)]
        for experience, use in credited:
            add_evidence(connection, experience, wrong, store.clock(), use=use)
            curate(connection, experience, store.clock())
            connection.execute(_BASELESS, (store.clock(), experience))
    return tuple(dict.fromkeys(experience for experience, _ in credited))


def _shown(connection: sqlite3.Connection, shown_id: str) -> list[Experience]:
    query = "SELECT experience FROM shown WHERE answer = ? ORDER BY position"
    rows = connection.execute(query, (shown_id,)).fetchall()
    if not rows:
        raise MemoryInvalid(f"Nothing was shown under {shown_id!r}.", "Use the shown_id of a query_memory answer.")
    return [fetch(connection, row["experience"]) for row in rows]


def _named(experience: Experience, plan: str) -> bool:
    return experience.id in plan or experience.tags.technique in ranked(plan, TECHNIQUES)


def _known(connection: sqlite3.Connection, experience: str, use: str, measured: Measurement) -> bool:
    query = """SELECT 1 FROM evidence WHERE experience = ? AND use = ? AND problem = ? AND attempt = ? AND digest = ?
        AND outcome = ? AND origin = ?"""
    key = (measured.problem, measured.attempt, measured.digest, measured.outcome, measured.origin)
    return connection.execute(query, (experience, use, *key)).fetchone() is not None
