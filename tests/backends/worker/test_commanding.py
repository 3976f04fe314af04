"""What a person's command leaves is told apart: its output, its complaints and its result file."""

from __future__ import annotations

from pathlib import Path

from nki_anvil.backends.worker.children import Children
from nki_anvil.backends.worker.device.commanding import carry_out
from nki_anvil.backends.worker.device.programs import Programs


def test_what_a_command_prints_and_what_it_complains_of_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("import nki\n")
    command = {"line": "echo Latency: 3; echo Latency: 1 >&2", "kernel": "kernel.py", "result": "r.json", "seconds": 60}
    left = carry_out(tmp_path, command, Programs(Children(), {"PATH": "/usr/bin:/bin"}), lambda said: None)
    assert left == {"status": 0, "printed": "Latency: 3\n", "complained": "Latency: 1\n", "result": None}
