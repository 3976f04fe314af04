"""The runner as another machine starts it: by its command line, in a job folder, without anybody attached."""

import json
import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from program_builder import ProgramBuilder

from nki_anvil.backends.job import Job, Limits
from nki_anvil.backends.worker import arrays, bootstrap, executor, isolation, runner
from nki_anvil.sim.program import ProgramError

FAILS = "def kernel(x, scale):\n    raise ValueError('no')\n"
MANY = """
import nki.isa as nisa
import nki.language as nl

def kernel(x, scale):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    for _ in range(3000):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=1.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


ENDLESS = """
import nki.isa as nisa
import nki.language as nl

def kernel(x, scale):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)

    def turn(one):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=1.0)
        return one

    nl.while_loop(nisa.register_alloc(1), turn)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[[Job], dict[str, object]]:
    """Runs a job in the same folder as the last one; returns its ``run.json``."""

    def run(job: Job) -> dict[str, object]:
        (tmp_path / "job.json").write_bytes(job.model_dump_json().encode())
        (tmp_path / "kernel.py").write_bytes(job.kernel.encode())
        subprocess.run(bootstrap.command(runner.__name__, str(tmp_path)), check=True, timeout=60)
        return json.loads((tmp_path / runner.RUN).read_bytes())

    return run


def test_finished_work_is_found_and_not_done_again(
    start: Callable[[Job], dict[str, object]], job: Callable[..., Job], tmp_path: Path
) -> None:
    first = start(job(FAILS))
    written = (tmp_path / runner.RUN).stat().st_ino
    assert start(job(FAILS)) == first
    assert (tmp_path / runner.RUN).stat().st_ino == written


def test_another_job_in_the_same_folder_is_run(
    start: Callable[[Job], dict[str, object]], job: Callable[..., Job]
) -> None:
    first = start(job(FAILS))
    assert start(job(FAILS, round=1))["job"] != first["job"]


def test_a_benchmark_round_is_always_measured_again(
    start: Callable[[Job], dict[str, object]], job: Callable[..., Job], tmp_path: Path
) -> None:
    start(job(FAILS, purpose="benchmark"))
    written = (tmp_path / runner.RUN).stat().st_ino
    start(job(FAILS, purpose="benchmark"))
    assert (tmp_path / runner.RUN).stat().st_ino != written


def test_a_job_of_another_protocol_is_refused(
    start: Callable[[Job], dict[str, object]], job: Callable[..., Job]
) -> None:
    run = start(job(FAILS, protocol=99))
    assert run["failure"] == "this worker speaks protocol 1, the job 99"


def test_cases_that_take_too_long_are_the_kernels_fault(
    start: Callable[[Job], dict[str, object]], job: Callable[..., Job]
) -> None:
    cases = ({"key": "a", "seed": 1}, {"key": "b", "seed": 2})
    run = start(job(MANY, cases=cases, limits=Limits(execute_s=0.002)))
    assert run["failure"] is None
    assert [case["error"]["code"] for case in run["cases"]] == ["Timeout", "Timeout"]  # type: ignore[index,attr-defined]


def test_outputs_beyond_the_limit_are_not_kept(
    start: Callable[[Job], dict[str, object]], job: Callable[..., Job]
) -> None:
    run = start(job(MANY.replace("3000", "1"), cases=({"key": "a", "seed": 1},), limits=Limits(output_bytes=100)))
    assert [case["error"]["code"] for case in run["cases"]] == ["TooLarge"]  # type: ignore[index,attr-defined]


def test_a_program_that_launches_itself_on_two_cores_is_refused_where_the_problem_has_one(
    start: Callable[[Job], dict[str, object]], job: Callable[..., Job]
) -> None:
    doubled = MANY.replace("def kernel(", "def body(") + "\n\nkernel = nki.jit(body)[2]\n"
    run = start(job("import nki" + doubled, cases=({"key": "a", "seed": 1},)))
    assert "2 cores" in run["traces"][0]["error"]["message"]  # type: ignore[index,operator]
    assert run["cases"] == []


@pytest.mark.parametrize("field", ["cores", "chip", "version"])
def test_a_program_for_something_else_than_the_job_is_refused(field: str) -> None:
    """A weaker version's rules would let more pass."""
    mine = {"cores": 1, "chip": "trn2", "version": "0.7", "unordered": False}
    job = {"lnc": 1, "chip": "trn2", "version": "0.7"}
    executor._refuse_others(SimpleNamespace(**mine), job, beta1=False)
    with pytest.raises(ProgramError, match=r"the job|the problem"):
        executor._refuse_others(SimpleNamespace(**{**mine, field: "2"}), job, beta1=True)


def test_only_beta_1_programs_have_loops_without_an_order() -> None:
    job = {"lnc": 1, "chip": "trn2", "version": "0.7"}
    mine = {"cores": 1, "chip": "trn2", "unordered": True}
    executor._refuse_others(SimpleNamespace(**mine, version="beta1"), job, beta1=True)
    with pytest.raises(ProgramError, match="without an order"):
        executor._refuse_others(SimpleNamespace(**mine, version="0.7"), job, beta1=True)


@pytest.mark.parametrize(
    ("text", "beta1"),
    [
        ("import neuronxcc.nki as nki", True),
        ("import numpy as np\nfrom neuronxcc import nki", True),
        ("import nki  # as neuronxcc.nki was", False),
        ("import nki\nNAME = 'neuronxcc'", False),
    ],
)
def test_only_a_text_that_imports_beta_1_has_its_rules(text: str, beta1: bool) -> None:
    program = SimpleNamespace(cores=1, chip="trn2", version="beta1")
    job = {"lnc": 1, "chip": "trn2", "version": "0.7"}
    assert executor._imports_beta1(text.encode()) is beta1
    with nullcontext() if beta1 else pytest.raises(ProgramError, match="the job"):
        executor._refuse_others(program, job, beta1)


def test_after_a_loop_that_does_not_end_no_further_case_is_tried(
    start: Callable[[Job], dict[str, object]], job: Callable[..., Job]
) -> None:
    cases = tuple({"key": key, "seed": 1} for key in "abc")
    run = start(job(ENDLESS, cases=cases, limits=Limits(execute_s=5.0)))
    errors = [case["error"] for case in run["cases"]]  # type: ignore[index,attr-defined]
    assert run["failure"] is None
    assert {error["code"] for error in errors} <= {"Timeout", "SIM-STEPS"}
    assert len(errors) == 3
    assert [case["inputs_digest"] == "" for case in run["cases"]] == [False, True, True]  # type: ignore[index,attr-defined]


def test_a_program_that_does_not_fit_into_memory_is_the_kernels_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def hoard(program: object, **_named: object) -> object:
        raise MemoryError

    monkeypatch.setattr("nki_anvil.sim.execution.Executable", hoard)
    cases = [{"key": key, "shapes": "default"} for key in "ab"]
    job = {"cases": cases, "limits": {"execute_s": 1, "output_bytes": 1}}
    with arrays.open_to_write(tmp_path / "outputs.npz") as archive:
        assert (
            executor.Execution(job, tmp_path, archive)._cases(ProgramBuilder().program(), {"name": "default"}) is None
        )
    said = [json.loads(line)["case"] for line in capsys.readouterr().out.splitlines()]
    assert [case["error"]["code"] for case in said] == ["OutOfMemory"] * 2
    assert "MiB" in said[0]["error"]["message"]


@pytest.mark.parametrize(
    ("status", "late", "resident", "code"),
    [
        (-9, 420.0, 0, "Timeout"),
        (-9, None, isolation.physical_bytes() * 2 // 3, "OutOfMemory"),
        (-9, None, 1 << 20, None),
        (1, None, isolation.physical_bytes(), None),
    ],
)
def test_only_what_a_program_did_to_the_executor_is_the_kernels_fault(
    status: int, late: float | None, resident: int, code: str | None
) -> None:
    found = runner.kernels_fault(status, late, resident)
    assert (found and found["error"]["code"]) == code
