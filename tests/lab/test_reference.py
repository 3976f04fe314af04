"""A reference's process and its folder end with their request, however that ends."""

import sys
import tempfile
from pathlib import Path

import anyio
import pytest

from nki_anvil.backends.errors import ProblemInvalid
from nki_anvil.lab.reference import Reference

pytestmark = pytest.mark.anyio

ENDLESS = """
import os
from pathlib import Path
import numpy as np

def get_inputs():
    Path(__file__).with_name("started").write_text(str(os.getpid()))
    while True:
        pass

def forward(x):
    return x
"""
SERVER = """
import sys
from pathlib import Path
import anyio
from nki_anvil.lab.reference import Reference

async def main():
    async with Reference(Path(sys.argv[1])).ask("inspect", dims={}, seeds=[1]):
        pass

anyio.run(main)
"""


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    path = tmp_path / "reference.py"
    path.write_text(ENDLESS)
    return path


async def test_a_reference_that_is_stopped_leaves_nothing(
    endless: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    with pytest.raises(ProblemInvalid, match="not done after"):
        async with Reference(endless, seconds=1).ask("inspect", dims={}, seeds=[1]):
            pass
    [place] = (tmp_path / "scratch").iterdir()
    assert list(place.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="a wall of Linux")
async def test_a_killed_server_takes_its_reference_along_and_the_next_request_sweeps_its_folder(
    endless: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, started = tmp_path / "scratch", tmp_path / "started"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    server = await anyio.open_process([sys.executable, "-c", SERVER, str(endless)])
    with anyio.fail_after(60):
        while not started.exists() or not started.read_text():
            await anyio.lowlevel.checkpoint()
        process = Path("/proc") / started.read_text() / "cwd"  # of a zombie it leads nowhere
        assert process.exists()
        server.kill()
        await server.wait()
        await server.aclose()
        while process.exists():
            await anyio.lowlevel.checkpoint()
    [place] = scratch.iterdir()
    assert len(list(place.iterdir())) == 1
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with pytest.raises(ProblemInvalid):
        async with Reference(tmp_path / "missing.py").ask("inspect", dims={}, seeds=[1]):
            pass
    assert list(place.iterdir()) == []
