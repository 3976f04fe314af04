"""Several servers write one log."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

from nki_anvil.server.rotating import SharedRotation

WRITER = """
import logging, sys
from nki_anvil.server.rotating import SharedRotation
log = logging.Logger("writer")
log.addHandler(SharedRotation(sys.argv[1], maxBytes=4000, backupCount=100, encoding="utf-8", delay=True))
for number in range(300):
    log.warning("%s %03d ........................", sys.argv[2], number)
"""


def test_no_line_of_several_writers_is_lost_and_no_file_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    command = [sys.executable, "-P", "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name]) for name in ("a", "b", "c")]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    files = [file for file in tmp_path.iterdir() if not file.name.endswith(".lock")]
    lines = sorted(line[:5] for file in files for line in file.read_text().splitlines())
    assert lines == sorted(f"{name} {number:03d}" for name in "abc" for number in range(300))
    older = [file.stat().st_size for file in files if file != path]
    assert min(older) > 3000, "each was rotated when it was full, and once"


def test_a_log_that_was_taken_away_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    log = logging.Logger("writer")
    log.addHandler(SharedRotation(path, maxBytes=4000, backupCount=1, encoding="utf-8", delay=True))
    log.warning("before")
    path.unlink()
    log.warning("after")
    assert path.read_text() == "after\n"


def test_a_log_beside_whose_lock_a_link_lies_goes_on_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    path, outside = tmp_path / "server.log", tmp_path / "outside"
    outside.write_text("kept")
    (tmp_path / "server.log.lock").symlink_to(outside)
    log = logging.Logger("writer")
    log.addHandler(SharedRotation(path, maxBytes=100, backupCount=1, encoding="utf-8", delay=True))
    for number in range(9):
        log.warning("%d ....................................", number)
    assert outside.read_text() == "kept"
    assert len(path.read_text().splitlines()) == 9
