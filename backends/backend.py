"""The seam between what is wanted and where it is carried out: one method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from nki_anvil.backends.job import Job
from nki_anvil.backends.run import Origin, Run

Report = Callable[[str], Awaitable[None]]
"""Told in words what is going on, e.g. ``case 3 of 20``; may be called often."""


async def silent(_message: str) -> None:
    """A Report that tells nobody."""


class Backend(Protocol):
    """A place where kernels run.

    ``run`` raises a BackendError for a machine's failure and returns a Run for everything that is the kernel's own
    doing. Cancelling it ends whatever it started and frees what it held.
    """

    @property
    def name(self) -> str:
        """``simulator``, ``ssh``, ``local``, ``ray`` or ``fake``."""
        ...

    @property
    def origin(self) -> Origin: ...

    @property
    def toolchain(self) -> str:
        """What a verdict depends on besides the kernel: the simulator's version, or the SDK's."""
        ...

    @property
    def cores(self) -> int:
        """Jobs it can usefully run at once."""
        ...

    async def run(self, job: Job, report: Report = silent) -> Run: ...

    async def close(self) -> None: ...
