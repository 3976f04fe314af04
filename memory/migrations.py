"""The memory file's schema, as steps that are only ever appended. It must not know what the rows mean.

``PRAGMA user_version`` is the number of steps taken. Counters are views over the append-only evidence, so that two
processes never fight for an increment.
"""

from __future__ import annotations

import sqlite3
from typing import Final

STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE experiences (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            kind TEXT NOT NULL CHECK (kind IN ('speedup', 'pitfall', 'fact')),
            title TEXT NOT NULL, when_to_use TEXT NOT NULL, advice TEXT NOT NULL,
            slow_snippet TEXT NOT NULL, fast_snippet TEXT NOT NULL,
            families TEXT NOT NULL, bottleneck TEXT NOT NULL, engines TEXT NOT NULL, dtype TEXT NOT NULL,
            shape_class TEXT NOT NULL, chip TEXT NOT NULL, nki_version TEXT NOT NULL, technique TEXT NOT NULL,
            tags TEXT NOT NULL,
            provenance TEXT NOT NULL CHECK (provenance IN ('measured', 'modelled', 'documented', 'asserted')),
            source TEXT NOT NULL, content_hash TEXT NOT NULL UNIQUE,
            superseded_by TEXT REFERENCES experiences (id), created_at REAL NOT NULL, retired_at REAL)""",
        """CREATE TABLE evidence (
            number INTEGER PRIMARY KEY,
            experience TEXT NOT NULL REFERENCES experiences (id),
            use TEXT NOT NULL,
            problem TEXT NOT NULL, attempt INTEGER NOT NULL, digest TEXT NOT NULL,
            outcome TEXT NOT NULL CHECK (outcome IN ('kept', 'reverted', 'undecided', 'wrong')),
            speedup REAL, speedup_low REAL, speedup_high REAL,
            origin TEXT NOT NULL CHECK (origin IN ('device', 'modelled')),
            at REAL NOT NULL)""",
        "CREATE INDEX evidence_by_experience ON evidence (experience)",
        """CREATE TRIGGER evidence_stays BEFORE UPDATE ON evidence
            BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END""",
        """CREATE TRIGGER evidence_is_kept BEFORE DELETE ON evidence
            BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END""",
        "CREATE TABLE answers (id TEXT PRIMARY KEY, situation TEXT NOT NULL, at REAL NOT NULL)",
        """CREATE TABLE shown (
            answer TEXT NOT NULL REFERENCES answers (id),
            experience TEXT NOT NULL REFERENCES experiences (id),
            position INTEGER NOT NULL,
            PRIMARY KEY (answer, position)) WITHOUT ROWID""",
        "CREATE TABLE loaded (digest TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID",
        # One use of an advice may take several attempts: it counts once, as the best that came of it.
        """CREATE VIEW uses AS
            SELECT experience, origin, use, MAX(CASE outcome
                WHEN 'kept' THEN 3 WHEN 'reverted' THEN 2 WHEN 'undecided' THEN 1 ELSE 0 END) AS result
            FROM evidence GROUP BY experience, origin, use""",
        """CREATE VIEW counters AS
            SELECT experience, origin, SUM(result = 3) AS kept, SUM(result = 2) AS reverted,
                SUM(result = 1) AS undecided, SUM(result = 0) AS wrong
            FROM uses GROUP BY experience, origin""",
        """CREATE VIEW speedups AS
            SELECT experience, origin, MAX(speedup) AS speedup, MIN(speedup_low) AS speedup_low,
                MAX(speedup_high) AS speedup_high
            FROM evidence WHERE outcome = 'kept' GROUP BY experience, origin""",
        """CREATE VIRTUAL TABLE experiences_text USING fts5 (
            title, when_to_use, tags, advice,
            content = 'experiences', content_rowid = 'number', tokenize = 'porter unicode61')""",
        """CREATE TRIGGER text_follows AFTER INSERT ON experiences BEGIN
            INSERT INTO experiences_text (rowid, title, when_to_use, tags, advice)
            VALUES (new.number, new.title, new.when_to_use, new.tags, new.advice); END""",
        """CREATE TRIGGER text_stays BEFORE UPDATE OF title, when_to_use, tags, advice, slow_snippet, fast_snippet
            ON experiences BEGIN SELECT RAISE(ABORT, 'the text of an experience does not change'); END""",
        """CREATE TRIGGER experiences_are_kept BEFORE DELETE ON experiences
            BEGIN SELECT RAISE(ABORT, 'experiences are retired, not deleted'); END""",
    ),
    (
        "DROP VIEW counters",
        "DROP VIEW uses",
        "DROP VIEW speedups",
        # What a kernel was credited with stands until a later line says that it is wrong.
        """CREATE VIEW standing AS
            SELECT * FROM evidence AS one WHERE NOT EXISTS (
                SELECT 1 FROM evidence AS later
                WHERE later.experience = one.experience AND later.problem = one.problem
                    AND later.attempt = one.attempt AND later.digest = one.digest AND later.origin = one.origin
                    AND later.number > one.number AND later.outcome = 'wrong')""",
        """CREATE VIEW uses AS
            SELECT experience, origin, use, MAX(CASE outcome
                WHEN 'kept' THEN 3 WHEN 'reverted' THEN 2 WHEN 'undecided' THEN 1 ELSE 0 END) AS result
            FROM standing GROUP BY experience, origin, use""",
        """CREATE VIEW counters AS
            SELECT experience, origin, SUM(result = 3) AS kept, SUM(result = 2) AS reverted,
                SUM(result = 1) AS undecided, SUM(result = 0) AS wrong
            FROM uses GROUP BY experience, origin""",
        """CREATE VIEW speedups AS
            SELECT experience, origin, MAX(speedup) AS speedup, MIN(speedup_low) AS speedup_low,
                MAX(speedup_high) AS speedup_high
            FROM standing WHERE outcome = 'kept' GROUP BY experience, origin""",
    ),
    (
        # Evidence that shows nothing after all: the kernel that it was measured against is wrong.
        """CREATE TABLE withdrawn (
            evidence INTEGER PRIMARY KEY REFERENCES evidence (number), at REAL NOT NULL)""",
        "DROP VIEW standing",
        """CREATE VIEW standing AS
            SELECT * FROM evidence AS one WHERE number NOT IN (SELECT evidence FROM withdrawn) AND NOT EXISTS (
                SELECT 1 FROM evidence AS later
                WHERE later.experience = one.experience AND later.problem = one.problem
                    AND later.attempt = one.attempt AND later.digest = one.digest AND later.origin = one.origin
                    AND later.number > one.number AND later.outcome = 'wrong')""",
    ),
    (
        # Another workspace may have another problem of the same name: what fails there says nothing of this one.
        "DROP VIEW standing",
        "ALTER TABLE evidence ADD COLUMN version TEXT NOT NULL DEFAULT ''",
        """CREATE VIEW standing AS
            SELECT * FROM evidence AS one WHERE number NOT IN (SELECT evidence FROM withdrawn) AND NOT EXISTS (
                SELECT 1 FROM evidence AS later
                WHERE later.experience = one.experience AND later.problem = one.problem
                    AND later.version = one.version
                    AND later.attempt = one.attempt AND later.digest = one.digest AND later.origin = one.origin
                    AND later.number > one.number AND later.outcome = 'wrong')""",
    ),
)

SCHEMA: Final = len(STEPS)
"""The schema's number, as this code knows it."""


def version(connection: sqlite3.Connection) -> int:
    """How many steps the file has taken."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection) -> None:
    """Take the steps that are missing, all or none; processes that start together wait for each other."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in STEPS[version(connection) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA:d}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
