"""How a slot is filled, and how they share a prompt's room."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from anyio.to_thread import run_sync

from nki_anvil.backends.errors import AnvilError
from nki_anvil.server.slots import Slots


async def chosen(slots: Slots, name: str) -> str:
    """One slot's text; a sentence that says why not, where the state cannot give it."""
    slot: Callable[[], str | Awaitable[str]] = getattr(slots, name)
    try:
        return await slots.experiences() if name == "experiences" else str(await run_sync(slot))
    except (AnvilError, OSError) as error:
        return f"(unknown: {error})"


WEIGHTS: Final = {"kernel": 4.0, "fast_kernel": 4.0, "slow_kernel": 4.0, "specification": 2.0, "diff": 2.0, "plan": 2.0}
"""Shares of a prompt's room where not everything fits: the kernel is what the prompt is about."""

NEWEST_LAST: Final = frozenset({"history", "reflexions", "failed_plans"})


def whole(slots: Slots, name: str) -> str:
    """Where all of a slot's text can be read."""
    problem = f"anvil://problems/{slots.problem()}"
    places = {"kernel": f"{problem}/best", "profile": "profile_kernel", "rules": "anvil://guides/rules"}
    places |= {"experiences": "query_memory", "migration": "anvil://guides/migration"}
    return places.get(name, f"{problem}/attempts")
