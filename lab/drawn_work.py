"""On the model: what a kernel takes whose loops integer inputs steer, over draws that are the same in every call."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from nki_anvil.lab.specification import Specification
from nki_anvil.lab.timing import Timed

FIRST: Final = 3
"""Draws after which work that was the same in all of them is taken to be the same in any."""
DRAWS: Final = 9
"""Draws otherwise: of one, whoever asks often enough would choose the luckiest."""


def seeds(specification: Specification) -> tuple[int, ...]:
    """Of the draws at which every kernel of a problem is costed; the first alone where no integer could steer."""
    count = DRAWS if _steered(specification) else 1
    made = [hashlib.sha256(f"{specification.version} {n}".encode()).digest() for n in range(count)]
    return tuple(int.from_bytes(one[:4], "big") >> 1 for one in made)


def _steered(specification: Specification) -> bool:
    return any(
        spec.shape is not None and spec.domain != "constant" and "float" not in spec.dtype
        for spec in specification.shape_sets[specification.timed].inputs
    )


async def over_draws(specification: Specification, at: Callable[[int], Awaitable[Timed]]) -> Timed:
    """The median latency over the draws; where they differ, each is a sample. Raises what ``at`` does, for a seed."""
    wanted = seeds(specification)
    found = [await at(seed) for seed in wanted[:FIRST]]
    if len({one.us for one in found}) == 1:
        return found[0]
    found += [await at(seed) for seed in wanted[FIRST:]]
    latencies = tuple(one.us for one in found)
    return replace(
        found[0],
        us=median(latencies),
        floor_us=median(one.floor_us for one in found),
        seconds=sum(one.seconds for one in found),
        samples_us=latencies,
    )


def told(us: Sequence[float]) -> tuple[str, ...]:
    """The flag of a modelled latency that hangs on what was drawn, by its samples; none where it does not."""
    if len(us) < DRAWS:
        return ()
    return (f"integers steer the work: median of {len(us)} draws, {min(us):.4g} to {max(us):.4g} us",)
