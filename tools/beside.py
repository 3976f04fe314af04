"""Tasks that run beside a block and end with it, without the block's own error being wrapped into a group."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup


@asynccontextmanager
async def beside() -> AsyncGenerator[TaskGroup]:
    """A task group that is cancelled when the block ends. What the block raises passes through as it is."""
    failure: Exception | SystemExit | None = None
    async with anyio.create_task_group() as group:
        try:
            yield group
        except (Exception, SystemExit) as error:
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
