"""What came of an attempt goes to the advice that inspired it, where a ``shown_id`` names the advice."""

from __future__ import annotations

from collections.abc import Iterable

from anyio.to_thread import run_sync

from nki_anvil.backends.errors import MemoryInvalid
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.memory.credit import credit
from nki_anvil.memory.store import Store
from nki_anvil.tools.call import Call
from nki_anvil.tools.record import measurement


async def credited(call: Call, problem: str, attempts: Iterable[int]) -> str:
    """Credits each attempt to its own ``shown_id``. Returns what has to be said about it, usually nothing."""
    lab = await call.laboratory()
    inspired = [number for number in attempts if lab.problem(problem).attempts.get(number).lineage.shown_id]
    if not inspired:
        return ""
    memory = await call.memory()
    return await run_sync(_credit, lab, memory, problem, inspired)


def _credit(lab: Laboratory, memory: Store, problem: str, numbers: list[int]) -> str:
    try:
        for number in numbers:
            attempt = lab.problem(problem).attempts.get(number)
            found = measurement(problem, attempt)
            if found is not None and attempt.lineage.shown_id:
                credit(memory, attempt.lineage.shown_id, found, plan=attempt.lineage.plan or "")
    except MemoryInvalid as error:
        return f"No advice was credited: {error.message}"
    return ""
