"""One laboratory per test, on fakes that answer what the kernels say about themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_world import WordedBackend, World


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def device(tmp_path: Path) -> World:
    """The same on a device with one percent of noise between processes."""
    return World(tmp_path, backend=WordedBackend(name="local", origin="device", noise=0.006))
