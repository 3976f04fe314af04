from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from lab_world import World

from nki_anvil.memory.experience import Draft, Measurement
from nki_anvil.memory.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty memory whose clock ticks once per look."""
    ticks = count(1000)
    opened = Store.open(tmp_path / "data", clock=lambda: float(next(ticks)))
    yield opened
    opened.close()


@pytest.fixture
def kept() -> Measurement:
    return Measurement(
        problem="rmsnorm", attempt=3, digest="ab" * 32, outcome="kept", origin="modelled",
        speedup=1.3, speedup_low=1.25, speedup_high=1.35,
    )  # fmt: skip


@pytest.fixture
def lesson() -> Draft:
    return Draft(
        kind="fact",
        title="Read the gain once",
        when_to_use="An rmsnorm kernel loads the same gain vector for every tile of rows.",
        advice="Load the gain before the loop and keep it on all partitions.",
    )


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A laboratory of fakes, for what goes through the tools."""
    return World(tmp_path / "world")
