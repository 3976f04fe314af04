"""The same work for many items, so many at a time; one known failure ends all of it and is raised as itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

from nki_anvil.backends.errors import one_error

Item = TypeVar("Item")


async def at_once(items: Iterable[Item], most: int, work: Callable[[Item], Awaitable[None]]) -> None:
    """Do the work for each item, at most ``most`` at a time. A machine's failure ends all, and is raised as itself."""
    limiter = anyio.CapacityLimiter(max(1, most))

    async def one(item: Item) -> None:
        async with limiter:
            await work(item)

    with one_error():
        async with anyio.create_task_group() as group:
            for item in items:
                group.start_soon(one, item)
