"""Scratch folders are private, gone when their owner is done, and swept when it was killed."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from nki_anvil.backends import scratch
from nki_anvil.backends.errors import PathUnwritable

OWNER = """
import os, signal, sys
from pathlib import Path
from nki_anvil.backends import scratch
with scratch.held(Path(sys.argv[1]), "dead-") as folder:
    (folder / "file").write_text("left")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    with scratch.held(tmp_path / "place", "a-") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("x")
    assert list((tmp_path / "place").iterdir()) == []


def test_the_folder_of_a_killed_owner_is_swept_and_a_living_one_is_not(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", OWNER, str(tmp_path)], check=False)
    [dead] = tmp_path.iterdir()
    with scratch.held(tmp_path, "first-") as first:
        assert not dead.exists()
        with scratch.held(tmp_path, "second-") as second:
            assert set(tmp_path.iterdir()) == {first, second}


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = tempfile.mkdtemp

    def swept_at_first(**how: object) -> str:
        made.append(make(**how))  # type: ignore[call-overload]
        if len(made) == 1:
            Path(made[0]).rmdir()
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", swept_at_first)
    with scratch.held(tmp_path, "a-") as folder:
        assert folder == Path(made[1])


def test_the_place_is_this_users_own_and_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert scratch.place().stat().st_mode & 0o777 == 0o700
    scratch.place().rmdir()
    (tmp_path / "else").mkdir()
    (tmp_path / f"nki-anvil-{os.getuid()}").symlink_to(tmp_path / "else")
    with pytest.raises(PathUnwritable, match="belongs to another user"):
        scratch.place()
