"""What the executor says of a shape set, line by line, where a program is valid and something of ours is not."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from program_builder import ProgramBuilder

from nki_anvil.backends.worker import arrays, records
from nki_anvil.backends.worker.executor import OUTPUTS, Execution
from nki_anvil.sim import profile
from nki_anvil.sim.program import Program
from nki_anvil.sim.rules import Finding

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


def boasting() -> Program:
    """A program whose own words are long."""
    b = ProgramBuilder()
    b.emit("dma_copy", b.result((2, 4)), b.input((2, 4)))
    return replace(b.program(), chip="x" * (1 << 20))


def faulty() -> Program:
    """A program with more faults than anybody reads, each at a line of its own."""
    b = ProgramBuilder()
    out, unwritten, tile = b.result((128, 4)), b.tensor((128, 4)), b.tensor((128, 4))
    for line in range(2 * records.FINDINGS):
        b.emit("tensor_copy", tile, unwritten, line=line + 1)
    b.emit("dma_copy", out, tile)
    return b.program()


@pytest.mark.parametrize("forged", [boasting, faulty])
def test_what_is_said_of_a_program_is_short_whatever_it_says_of_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], forged: Callable[[], Program]
) -> None:
    path = tmp_path / "program"
    path.write_bytes(forged().encode())
    (tmp_path / "kernel.py").write_text("")
    with arrays.open_to_write(tmp_path / OUTPUTS) as archive:
        Execution(JOB, tmp_path, archive).shape_set({"shapes": "default", "programs": [str(path), str(path)]})
    said = capsys.readouterr().out
    assert len(said) < 1 << 19
    trace = json.loads(said.splitlines()[0])["trace"]
    assert (trace["outcome"] == "malformed") == (forged is boasting)


def test_an_error_is_told_however_many_warnings_stand_before_it() -> None:
    found = [Finding("W", "warning", "", line, "") for line in range(records.FINDINGS)]
    told = records.findings([*found, Finding("E", "error", "", records.FINDINGS, "")])
    assert len(told) == records.FINDINGS
    assert told[0]["code"] == "E"
