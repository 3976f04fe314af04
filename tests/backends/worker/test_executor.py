"""What the executor says of a shape set, line by line, where a program is valid and something of ours is not."""

import json
from pathlib import Path

import pytest
from program_builder import ProgramBuilder

from nki_anvil.backends.worker import arrays
from nki_anvil.backends.worker.executor import OUTPUTS, Execution
from nki_anvil.sim import profile

JOB = {
    "purpose": "verify", "chip": "trn2", "version": "0.7", "lnc": 1, "cases": [],
    "shape_sets": [{"name": "default", "inputs": []}], "limits": {"execute_s": 10, "output_bytes": 1 << 20},
}  # fmt: skip


def test_a_program_that_the_model_cannot_cost_is_told_as_that_and_not_as_a_broken_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stumbles(*_given: object, **_named: object) -> None:
        raise IndexError("index 3 is out of bounds")

    monkeypatch.setattr(profile, "estimate", stumbles)
    b = ProgramBuilder()
    b.emit("dma_copy", b.result((2, 4)), b.input((2, 4)))
    path = tmp_path / "program"
    path.write_bytes(b.program().encode())
    (tmp_path / "kernel.py").write_text("import nki")
    with arrays.open_to_write(tmp_path / OUTPUTS) as archive:
        Execution(JOB, tmp_path, archive).shape_set({"shapes": "default", "programs": [str(path), str(path)]})
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    first, last = (message["trace"] for message in said if "trace" in message)
    assert first["outcome"] == "ok"
    assert (last["outcome"], last["error"]["code"], last["digests"]) == ("failed", "NotCosted", first["digests"])
    assert "index 3 is out of bounds" in last["error"]["message"]
    assert said[-1]["end"] == "default"
