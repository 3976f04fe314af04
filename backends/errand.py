"""On whose behalf something is done: client, call, problem, attempt and job, known to everything that a call starts.

It goes along with the task, into tasks and threads that it begins, so that queues and logs need not be handed it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Errand:
    """What is not known, or does not apply, is empty."""

    client: str = ""
    tool: str = ""
    call: str = ""
    """Of this server's calls, which one."""
    problem: str = ""
    attempt: int | None = None
    job: str = ""
    """Shortened digest."""


_NOW: ContextVar[Errand] = ContextVar("errand", default=Errand())  # noqa: B039 - frozen


def now() -> Errand:
    return _NOW.get()


@contextmanager
def on(**known: Any) -> Generator[Errand]:
    """While the block runs, this is known besides what was known before."""
    token = _NOW.set(replace(_NOW.get(), **known))
    try:
        yield _NOW.get()
    finally:
        _NOW.reset(token)
