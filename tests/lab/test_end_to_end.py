"""A problem that is a command, decided by what it reports; the machine that runs it is a script."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_world import WordedBackend, World, said

from nki_anvil.backends.errors import AnvilError, BackendUnsupported, GateUnverified, ProblemChanged
from nki_anvil.backends.job import Job
from nki_anvil.backends.run import Ended, Run
from nki_anvil.lab import standard
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.benchmarking import benchmark_kernel
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.evaluating import evaluate_candidates
from nki_anvil.lab.finishing import finish_problem
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.opening import open_problem
from nki_anvil.lab.results import Candidate
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.verifying import verify_kernel

pytestmark = pytest.mark.anyio

TOML = 'name = "p"\n[e2e]\ncommand = "run the model"\nfiles = ["*.txt"]\nlanguage = false\naccuracy_min = 0.9\n'


class Commanded(WordedBackend):
    """Runs no command, and answers with what the kernel says, with some noise."""

    ended: Ended | None = None

    async def run(self, job: Job, report: Any = None) -> Run:
        self.jobs.append(job)
        assert job.files == {"prompts.txt": b"hello\n"}
        noise = float(np.exp(self.random.normal(0, 0.002)))
        told: dict[str, float] = {"latency_ms": float(said(job.kernel, "latency", "10")) * noise}
        told["throughput"] = float(said(job.kernel, "throughput", "100"))
        told["accuracy"] = float(said(job.kernel, "accuracy", "1"))
        ended = self.ended or Ended(status=0, result=json.dumps(told))
        return Run(
            job=job.digest(), backend=self.name, origin=self.origin, toolchain=self.toolchain, ended=ended,
            environment={"host": "h", "core": "0"}, seconds={"execute": 1.0},
        )  # fmt: skip


def text(latency: float, throughput: float = 100, accuracy: float = 1) -> str:
    return f"latency {latency}\nthroughput {throughput}\naccuracy {accuracy}\n"


@pytest.fixture
def machine() -> Commanded:
    return Commanded(name="fake", origin="device")


@pytest.fixture
def lab(tmp_path: Path, machine: Commanded) -> Laboratory:
    world = World(tmp_path, machine)
    (world.workspace / "problem.toml").write_text(TOML)
    (world.workspace / "prompts.txt").write_text("hello\n")
    world.edit(text(10))
    return Laboratory(
        workspace=world.workspace, data=tmp_path / "data", backends={"fake": machine}, backend="fake",
        random=np.random.default_rng(3), clock=world.clock, rules=Rules(), load=standard.load, verify=standard.verify,
    )  # fmt: skip


async def judged(lab: Laboratory, source: str) -> Any:
    assert (await verify_kernel(lab, "p", source=source)).passed
    return await benchmark_kernel(lab, "p", source=source)


async def test_a_command_is_kept_and_reverted_by_its_score_and_the_record_gives_the_same_again(lab: Laboratory) -> None:
    opened = await open_problem(lab, "problem.toml")
    assert opened.baseline is not None
    assert opened.baseline.latency_us == pytest.approx(10_000, rel=0.02)
    kept = await judged(lab, text(8, 125))
    assert kept.outcome == "keep"
    assert kept.score is not None
    assert kept.score.score == pytest.approx(1.25 * 1.25, rel=0.02)
    assert kept.speedup == pytest.approx(1.25, rel=0.02), "of the latency alone"
    slower_but_better = await judged(lab, text(8.8, 160))
    assert slower_but_better.outcome == "keep"
    assert slower_but_better.speedup < 1
    less_accurate = await judged(lab, text(8.6, 155, 0.9))
    assert less_accurate.outcome == "revert"
    finished = await finish_problem(lab, "p")
    assert finished.score is not None
    assert finished.score.score == pytest.approx(10 / 8.8 * 1.6, rel=0.02)
    assert audit(lab, "p").clean


async def test_figures_on_standard_error_are_last_words_and_nothing_else(lab: Laboratory, machine: Commanded) -> None:
    await open_problem(lab, "problem.toml")
    figures = "Latency: 10\nAccuracy: 1\n"
    machine.ended = Ended(status=0, printed=figures, complained="ValueError:\nLatency: 0.001\n")
    assert "; 10 ms" in " ".join(gate.detail for gate in (await verify_kernel(lab, "p", source=text(8))).gates)
    machine.ended = Ended(status=0, complained=figures)
    judged = await verify_kernel(lab, "p", source=text(9))
    assert not judged.passed
    assert "no line of its standard output" in judged.gates[4].detail
    assert "It last said: Latency: 10 Accuracy: 1" in judged.gates[4].detail


async def test_a_score_that_was_changed_in_its_record_is_found(lab: Laboratory) -> None:
    await open_problem(lab, "problem.toml")
    await judged(lab, text(8, 125))
    path = lab.attempts("p").get(1).folder / "benchmark.json"
    stored = json.loads(path.read_text())
    stored["comparisons"][0]["score"]["score"] *= 1.1
    path.write_text(json.dumps(stored))
    assert any("score is stored as" in fault for fault in audit(lab, "p").faults)
    record = Comparison.model_validate(stored["comparisons"][0])
    assert record.score is not None


async def test_candidates_of_a_command_are_ranked_by_their_score(lab: Laboratory) -> None:
    await open_problem(lab, "problem.toml")
    kernels = [Candidate(kernel=one) for one in (text(9), text(9.5, 150), text(5, 100, 0.5))]
    evaluated = await evaluate_candidates(lab, "p", kernels)
    first = evaluated.candidates[0]
    assert first.outcome == "keep"
    assert first.attempt == 2, "slower than the first, and half as much again goes through it"
    assert sum(not one.passed for one in evaluated.candidates) == 1


async def test_a_command_is_refused_where_nothing_is_measured_and_leaves_no_problem(
    lab: Laboratory, machine: Commanded
) -> None:
    machine.origin = "modelled"
    with pytest.raises(BackendUnsupported, match="without a device"):
        await open_problem(lab, "problem.toml")
    assert lab.names() == []


async def test_a_file_that_is_sent_along_is_part_of_the_problem(lab: Laboratory) -> None:
    await open_problem(lab, "problem.toml")
    (lab.workspace / "prompts.txt").write_text("something else\n")
    with pytest.raises(ProblemChanged, match=r"prompts\.txt changed"):
        await verify_kernel(lab, "p", source=text(9))


async def test_a_kernel_that_fails_while_it_is_timed_is_no_longer_verified(lab: Laboratory, machine: Commanded) -> None:
    await open_problem(lab, "problem.toml")
    source = text(8)
    assert (await verify_kernel(lab, "p", source=source)).passed
    run = machine.run

    async def worse(job: Job, report: Any = None) -> Run:
        bad = job.model_copy(update={"kernel": job.kernel.replace("accuracy 1", "accuracy 0.2")})
        return await run(bad if job.arm == "new" and job.kernel == source else job, report)

    machine.run = worse  # type: ignore[method-assign]
    with pytest.raises(AnvilError, match=r"accuracy of 0\.2") as caught:
        await benchmark_kernel(lab, "p", source=source)
    assert isinstance(caught.value, GateUnverified)
    machine.run = run  # type: ignore[method-assign]
    again = await verify_kernel(lab, "p", source=source)
    assert not again.passed
    assert again.repeated
    machine.run = worse  # type: ignore[method-assign]
    source, other = text(7), text(9)
    evaluated = await evaluate_candidates(lab, "p", [Candidate(kernel=one) for one in (source, other)])
    assert [one.passed for one in evaluated.candidates] == [True, False], "the others are compared all the same"
    assert evaluated.candidates[0].outcome == "keep"


async def test_a_best_whose_command_reports_too_little_at_the_end_is_best_no_more(
    lab: Laboratory, machine: Commanded
) -> None:
    opened = await open_problem(lab, "problem.toml")
    assert opened.baseline is not None
    source, run = text(8), machine.run
    assert (await judged(lab, source)).outcome == "keep"

    async def worse(job: Job, report: Any = None) -> Run:
        bad = job.model_copy(update={"kernel": job.kernel.replace("accuracy 1", "accuracy 0.2")})
        return await run(bad if job.kernel == source else job, report)

    machine.run = worse  # type: ignore[method-assign]
    with pytest.raises(GateUnverified, match=r"accuracy of 0\.2"):
        await finish_problem(lab, "p")
    assert not (await verify_kernel(lab, "p", source=source)).passed
    assert (await finish_problem(lab, "p")).best_digest == opened.baseline.digest
