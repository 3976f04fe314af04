"""What came of an attempt goes to the advice that inspired it, where a ``shown_id`` names the advice.

What a kernel earned is withdrawn when it, or the one that it was compared with, fails a later look: told by the call
that looked, and at latest before memory is shown, whoever looked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress

from anyio import CancelScope
from anyio.to_thread import run_sync

from nki_anvil.backends.errors import AnvilError, MemoryInvalid
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.memory.credit import condemn, credit, credits_of, withdraw
from nki_anvil.memory.store import Store
from nki_anvil.tools.call import Call
from nki_anvil.tools.record import failed_since, measurement, unfounded


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


@asynccontextmanager
async def taking_back(call: Call, problem: str) -> AsyncGenerator[None]:
    """A call that may judge kernels anew, and end in an error after that: memory hears of what failed all the same."""
    try:
        yield
    except BaseException:
        with CancelScope(shield=True):
            await withdrawn(call, problem)
        raise


async def settled(call: Call) -> Store:
    """Memory, to be shown: without what kernels of this workspace earned that failed since."""
    lab, memory = await call.laboratory(), await call.memory()
    await run_sync(_settle, lab, memory)
    return memory


def _settle(lab: Laboratory, memory: Store) -> None:
    for name in lab.names():
        with suppress(AnvilError):  # a problem that cannot be read says nothing about its kernels
            _withdraw(lab, memory, name)


def _withdraw(lab: Laboratory, memory: Store, problem: str) -> str:
    found, lost = lab.problem(problem), dict[str, int]()
    for credited in credits_of(memory, problem, found.specification.version):
        attempt = found.attempts.of(credited.digest)
        if attempt is None:
            continue  # by its digest: where the problem was opened anew, the kernel may have another number
        if credited.outcome == "kept" and failed_since(lab, found, attempt, credited.origin):
            lost |= dict.fromkeys(condemn(memory, credited), attempt.number)
        elif unfounded(lab, found, attempt, credited):
            lost |= dict.fromkeys(withdraw(memory, credited), attempt.number)
    return "; ".join(f"Memory took back what attempt {n} had shown for {experience}" for experience, n in lost.items())


def _credit(lab: Laboratory, memory: Store, problem: str, numbers: list[int]) -> str:
    try:
        opened = lab.problem(problem)
        for number in numbers:
            attempt = opened.attempts.get(number)
            found = measurement(lab, opened, attempt)
            if found is not None and attempt.lineage.shown_id:
                credit(memory, attempt.lineage.shown_id, found, plan=attempt.lineage.plan or "")
    except MemoryInvalid as error:
        return f"No advice was credited: {error.message}"
    return ""
