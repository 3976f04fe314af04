"""What came of an attempt goes to the advice that inspired it, where a ``shown_id`` names the advice.

What a kernel earned is withdrawn when it fails a later look.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyio.to_thread import run_sync

from nki_anvil.backends.errors import AnvilError, MemoryInvalid
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.memory.credit import credit, credits_of, withdraw
from nki_anvil.memory.store import Store
from nki_anvil.tools.call import Call
from nki_anvil.tools.record import failed_since, measurement


async def credited(call: Call, problem: str, attempts: Iterable[int]) -> str:
    """Credits each attempt to its own ``shown_id``. Returns what has to be said about it, usually nothing."""
    lab = await call.laboratory()
    inspired = [number for number in attempts if lab.problem(problem).attempts.get(number).lineage.shown_id]
    if not inspired:
        return ""
    memory = await call.memory()
    return await run_sync(_credit, lab, memory, problem, inspired)


async def withdrawn(call: Call, problem: str) -> str:
    """Takes back what kernels of this problem earned that failed since. Returns what has to be said about it."""
    lab = await call.laboratory()
    try:
        return await run_sync(_withdraw, lab, await call.memory(), problem)
    except AnvilError as error:  # the verdict is what was asked for
        return f"Nothing was taken back in memory: {error.message}"


def _withdraw(lab: Laboratory, memory: Store, problem: str) -> str:
    attempts, lost = lab.problem(problem).attempts, dict[str, int]()
    for number, digest, origin in credits_of(memory, problem):
        attempt = attempts.of(digest)
        if attempt is not None and attempt.number == number and failed_since(attempt, origin):
            found = measurement(problem, attempt)
            if found is not None and found.outcome == "wrong":  # what was reverted had earned nothing
                lost |= dict.fromkeys(withdraw(memory, found), number)
    return "; ".join(f"Memory took back what attempt {n} had shown for {experience}" for experience, n in lost.items())


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
