"""One call of a tool, as the tool sees it.

It must not know of protocols: the same functions run for a client, for a detached call and on the command line.
"""

from __future__ import annotations

from dataclasses import dataclass

from nki_anvil.backends.backend import Report, silent
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.memory.store import Store
from nki_anvil.tools.desk import Desk


@dataclass(frozen=True)
class Call:
    """The desk it is made at, and somewhere to say how it is going."""

    desk: Desk
    report: Report = silent

    async def laboratory(self) -> Laboratory:
        return await self.desk.laboratory()

    async def memory(self) -> Store:
        return await self.desk.memory()
