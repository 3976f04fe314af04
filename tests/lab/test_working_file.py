from __future__ import annotations

import os
from pathlib import Path

import pytest

from nki_anvil.backends.errors import KernelMissing, PathOutside, PathUnreadable
from nki_anvil.lab import working_file


def test_paths_are_taken_from_the_workspace_and_may_not_leave_it(tmp_path: Path) -> None:
    inside = tmp_path / "w"
    inside.mkdir()
    assert working_file.confine(inside, "a/../b.py") == inside / "b.py"
    for path in ("../x.py", "/etc/passwd", "a/../../x.py"):
        with pytest.raises(PathOutside, match="outside the workspace"):
            working_file.confine(inside, path)


def test_a_symbolic_link_out_of_the_workspace_is_outside_and_one_within_is_followed(tmp_path: Path) -> None:
    inside = tmp_path / "w"
    inside.mkdir()
    (tmp_path / "secret.py").write_text("x")
    (inside / "real.py").write_text("y")
    (inside / "out.py").symlink_to(tmp_path / "secret.py")
    (inside / "folder").symlink_to(tmp_path)
    (inside / "in.py").symlink_to("real.py")
    for path in ("out.py", "folder/secret.py"):
        with pytest.raises(PathOutside):
            working_file.confine(inside, path)
    assert working_file.confine(inside, "in.py") == inside / "real.py"


def test_a_path_that_cannot_be_followed_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for path in ("a\0b", "x" * 5000, "x" * 300, "loop", "loop/k.py", os.fsdecode(b"odd\xff")):
        with pytest.raises(PathUnreadable):
            working_file.read(working_file.confine(tmp_path, path))


def test_what_is_not_a_readable_text_file_says_why(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin").write_bytes(b"\xff\xfe\xff")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", working_file.LARGEST_BYTES + 1)
    cases = {
        "none": "does not exist",
        "folder": "is a folder",
        "latin": "not UTF-8",
        "pipe": "not a regular",
        "huge": "larger",
    }
    for name, why in cases.items():
        with pytest.raises(PathUnreadable, match=why):
            working_file.read(tmp_path / name)
    with pytest.raises(KernelMissing, match="revert_to_best"):
        working_file.read_working(tmp_path / "none")


def test_a_byte_order_mark_is_no_part_of_a_kernel(tmp_path: Path):
    (tmp_path / "k.py").write_bytes("x = 'π'\r\n".encode("utf-8-sig"))
    assert working_file.read(tmp_path / "k.py") == "x = 'π'\r\n"


def test_nothing_is_written_through_a_folder_that_became_a_link(tmp_path: Path) -> None:
    for name in ("work", "refs"):
        (tmp_path / name).mkdir()
    opened = working_file.confine(tmp_path, "work/kernel.py")
    assert working_file.to_write(tmp_path, opened) == opened
    (tmp_path / "work").rmdir()
    (tmp_path / "work").symlink_to(tmp_path / "refs")
    with pytest.raises(PathOutside, match="is a link by now"):
        working_file.to_write(tmp_path, opened)
