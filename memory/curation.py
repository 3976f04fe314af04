"""What becomes of advice whose record is bad. Called whenever evidence was added, in the same transaction."""

from __future__ import annotations

import math
import sqlite3
from typing import Final

from nki_anvil.memory.experience import Evidence, Experience
from nki_anvil.memory.store import Store, evidence_of, fetch

USES: Final = 5
"""Uses before a record can retire an experience."""

SUCCESS: Final = 0.2
"""An experience stays while the lower bound of its success is at least this."""

WRONG: Final = 2
"""Uses that ended in a wrong kernel, none being kept, that make advice a pitfall."""

DEVIATIONS: Final = 1.0
"""Width of the bound in standard deviations. One retires 1 of 5 and keeps 2 of 5; two would retire 2 of 5 as well."""


def lower_bound(successes: int, uses: int, deviations: float = DEVIATIONS) -> float:
    """Wilson's lower bound of a share, 0 to 1."""
    if not uses:
        return 0.0
    share, spread = successes / uses, deviations**2 / uses
    centre = share + spread / 2
    reach = deviations * math.sqrt(share * (1 - share) / uses + spread / (4 * uses))
    return max(0.0, (centre - reach) / (1 + spread))


def curate(connection: sqlite3.Connection, experience: str, at: float) -> None:
    """Apply the rules to one experience: two wrong uses make it a pitfall, a bad record retires it."""
    stored = fetch(connection, experience)
    record = evidence_of(connection, [experience])[experience]
    if stored.kind == "pitfall" or not stored.active:
        return
    if _misleads(stored, record):
        connection.execute("UPDATE experiences SET kind = 'pitfall' WHERE id = ?", (experience,))
    elif record.uses >= USES and lower_bound(record.kept, record.uses) < SUCCESS:
        connection.execute("UPDATE experiences SET retired_at = ? WHERE id = ?", (at, experience))


def _misleads(stored: Experience, record: Evidence) -> bool:
    """Documented advice is true whatever was made of it: it can be retired, not turned into its opposite."""
    return stored.provenance != "documented" and record.wrong >= WRONG and not record.kept


def sweep(store: Store) -> list[str]:
    """Curate everything; returns the ids that were retired or became pitfalls."""
    before = {experience.id: experience for experience in store.experiences()}
    with store.writing() as connection:
        for experience in before:
            curate(connection, experience, store.clock())
    return [name for name, experience in before.items() if store.get(name) != experience]
