"""What the executor says of a shape set, line by line, where a program is valid and something of ours is not."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from program_builder import ProgramBuilder

from nki_anvil.backends.job import Case, InputSpec
from nki_anvil.backends.worker import arrays, records
from nki_anvil.backends.worker.executor import OUTPUTS, Execution
from nki_anvil.lab.repeats import ORDERS
from nki_anvil.sim import profile
from nki_anvil.sim.program import SCHEMA, Program
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


@pytest.mark.parametrize("unordered", [False, True])
def test_cases_in_other_orders_are_run_where_a_program_has_them(
    unordered: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two tiles of an output overlap: the later one counts, which backwards is the other one."""
    b = ProgramBuilder(version="beta1")
    source, out = b.input((2, 4)), b.result((4, 4))
    for row in (0, 1, 2):
        b.emit("dma_copy", out[row : row + 2], source)
    rows = dict.fromkeys(SCHEMA["orders"], np.array([2, 1, 0])) if unordered else {}
    tables = b.program().tables
    program = replace(b.program(), tables={**tables, "orders": {**tables["orders"], **rows}})
    (tmp_path / "program").write_bytes(program.encode())
    (tmp_path / "kernel.py").write_text("import neuronxcc.nki as nki")
    first = Case(key="a", seed=3)
    others = [first.model_copy(update={"key": f"a.{order}", "order": order}) for order in ORDERS]
    cases = [case.model_dump(mode="json") for case in (first, *others)]
    shapes = {"name": "default", "inputs": [InputSpec(name="x", shape=(2, 4)).model_dump(mode="json")]}
    with arrays.open_to_write(tmp_path / OUTPUTS) as archive:
        execution = Execution({**JOB, "cases": cases, "shape_sets": [shapes]}, tmp_path, archive)
        execution.shape_set({"shapes": "default", "programs": [str(tmp_path / "program")] * 2})
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["trace"]["unordered"] for one in said if "trace" in one] == [unordered]
    keys = [one["case"]["key"] for one in said if "case" in one]
    assert keys == ["a", *(f"a.{order}" for order in ORDERS)] if unordered else ["a"]
    with arrays.open_to_read(tmp_path / OUTPUTS, 1 << 20) as archive:
        found = [arrays.read(archive, f"{key}/0", np.dtype(np.float32)) for key in keys]
    assert not unordered or (found[0] != found[1]).any()


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
