"""The benchmark from a checkout: cases found, kernels run, figures told, tasks opened as problems."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nki_anvil.backends import scratch
from nki_anvil.backends.errors import PathUnreadable, ProblemUnknown
from nki_anvil.lab.nkibench import naming, summary
from nki_anvil.lab.nkibench.results import Benchmark, TaskResult
from nki_anvil.lab.nkibench.running import difference
from nki_anvil.server.commands import run

Nki = Callable[..., tuple[int, str, str]]
FIELDS = {
    "name", "passed", "error", "ratio", "simulated_s", "reference_s", "modelled_us", "percent_of_peak",
    "peak_memory_mb",
}  # fmt: skip


@pytest.fixture
def nki(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Nki:
    monkeypatch.setenv("NKI_ANVIL_DATA", str(tmp_path / "data"))

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nki-anvil", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return command


def test_a_right_kernel_passes_with_all_its_figures(nki: Nki, checkout: Path):
    status, out, told_meanwhile = nki("nkibench", str(checkout), "--task", "powers", "--seeds", "2", "--json")
    told = json.loads(out)
    assert status == 0
    assert set(told) == {"tasks", "geomean_ratio"}
    [task] = told["tasks"]
    assert set(task) == FIELDS
    assert task["passed"]
    assert task["error"] < 1e-6
    assert task["modelled_us"] > 0
    assert 0 < task["percent_of_peak"] < 100
    assert 20 < task["peak_memory_mb"] < 2000
    assert "powers" in told_meanwhile


def test_what_is_expected_lies_in_the_data_folder(
    nki: Nki, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    places: list[Path] = []
    held = scratch.held
    monkeypatch.setattr(scratch, "held", lambda parent, prefix: places.append(parent) or held(parent, prefix))
    assert nki("nkibench", str(checkout), "--task", "powers")[0] == 0
    assert set(places) == {tmp_path / "data" / "aside"}
    assert scratch.place() != tmp_path / "data" / "aside", "and only while it runs"


def test_a_wrong_and_an_illegal_kernel_fail_with_the_reason_and_the_others_still_run(nki: Nki, checkout: Path):
    status, out, _ = nki("nkibench", str(checkout.parent), "--processes", "2")
    assert status == 1
    head, *rows = out.strip().splitlines()[:4]
    assert head.split()[:2] == ["task", "error"]
    assert {row.split()[0] for row in rows} == {"powers", "wrong", "illegal"}
    assert "above 2e-05" in out
    assert "[NKI-AFFINE]" in out
    assert "lacks `i`" in out


def test_what_is_not_there_is_named_with_what_is(nki: Nki, checkout: Path, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    status, _, complaint = nki("nkibench", str(tmp_path / "empty"))
    assert status == 2
    assert "summary.json" in complaint
    status, _, complaint = nki("nkibench", str(checkout), "--task", "sours")
    assert status != 0
    assert "powers, wrong, illegal" in complaint
    status, _, complaint = nki("nkibench", str(checkout), "--chip", "trn9")
    assert status == 2
    assert "trn1" in complaint


def test_a_summary_that_is_damaged_or_names_absent_files_is_refused(checkout: Path):
    (checkout / "kernels" / "wrong.py").unlink()
    with pytest.raises(PathUnreadable, match=r"wrong\.py"):
        summary.tasks(checkout)
    (checkout / "summary.json").write_text('{"powers": []}')
    with pytest.raises(PathUnreadable, match="is no summary"):
        summary.tasks(checkout)


def test_the_error_is_relative_to_the_whole_output_and_sizes_must_agree(tmp_path: Path):
    np.save(tmp_path / "a.npy", np.array([[3.0, 4.0]], np.float32))
    np.save(tmp_path / "b.npy", np.array([3.0, 4.5], np.float32))
    np.save(tmp_path / "c.npy", np.zeros(3, np.float32))
    assert difference(tmp_path / "b.npy", tmp_path / "a.npy") == pytest.approx(0.1)
    assert "3 elements" in str(difference(tmp_path / "c.npy", tmp_path / "a.npy"))


def test_the_geometric_mean_is_over_the_tasks_that_have_a_ratio():
    tasks = [TaskResult(name=n, passed=True, error=0.0, ratio=r) for n, r in (("a", 2.0), ("b", 8.0), ("c", None))]
    found = Benchmark.of(tasks)
    assert found.geomean_ratio == pytest.approx(4.0)
    assert found
    assert not Benchmark.of([*tasks, TaskResult(name="d", passed=False)])
    assert not Benchmark.of([])
    assert "geometric mean of simulated / reference 4.00" in str(found)
    assert "geometric mean" not in str(Benchmark.of([]))


def test_a_task_is_copied_by_name_and_its_files_are_not_overwritten(checkout: Path):
    workspace = checkout.parents[1]
    folder = naming.copy("powers", workspace)
    assert folder == workspace / "kernels" / "powers"
    (folder / "kernel.py").write_text("mine")
    assert naming.copy("AccelOpt/powers", workspace) == folder
    assert (folder / "kernel.py").read_text() == "mine"
    with pytest.raises(ProblemUnknown, match="sours"):
        naming.copy("sours", workspace)


@pytest.mark.slow
def test_every_gate_is_passed_by_a_kernel_of_the_checkout(nki: Nki, checkout: Path):
    status, out, _ = nki("nkibench", str(checkout), "--task", "powers", "--full")
    assert status == 0, out
