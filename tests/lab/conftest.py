"""One laboratory per test, on fakes that answer what the kernels say about themselves."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from court import planned
from lab_world import WordedBackend, World

from nki_anvil.lab import seals


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _seals_lie_elsewhere(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Also of folders that no laboratory made."""
    seals.keep(tmp_path.parent, tmp_path_factory.mktemp("data"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def device(tmp_path: Path) -> World:
    """The same on a device with one percent of noise between processes."""
    return World(tmp_path, backend=WordedBackend(name="local", origin="device", noise=0.006))


@pytest.fixture
def few_cases() -> Generator[None]:
    """Pools are of the problem's own draws: for what is about a reference, and not about what it is measured on."""
    with planned(("own", "drawn", "uniform")):
        yield
