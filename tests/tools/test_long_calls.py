"""Calls that take their time: progress, cancelling, and going on without anybody waiting."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from lab_world import World, kernel
from mcp import Client
from served import call, refusal, served, staffed

from nki_anvil.backends.backend import Report
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.workbench import workbench
from nki_anvil.tools.desk import Desk
from nki_anvil.tools.telling import APART_S, QUIET_S, Teller

pytestmark = pytest.mark.anyio


class Slow(World):
    """Verifications say how they go, and wait until they are let through."""

    def __post_init__(self) -> None:
        self.begun, self.gate, self.cancelled = anyio.Event(), anyio.Event(), anyio.Event()
        super().__post_init__()

    async def verify_text(self, *arguments: Any, report: Report, **more: Any) -> Verdict:
        await report("case 3 of 20")
        self.begun.set()
        try:
            await self.gate.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        return await super().verify_text(*arguments, **more)


@pytest.fixture
async def slow(tmp_path: Any) -> Slow:
    """With its problem open and the gate shut."""
    world = Slow(tmp_path)
    world.gate.set()
    await world.open()
    world.begun, world.gate = anyio.Event(), anyio.Event()
    return world


async def test_progress_is_told_in_words_while_the_call_runs(slow: Slow):
    heard: list[str] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")
        slow.gate.set()

    async with served(slow) as client:
        arguments = {"problem": "p", "source": kernel(5)}
        answer = await client.call_tool("verify_kernel", arguments, progress_callback=listen)
    assert not answer.is_error
    assert "case 3 of 20" in heard


async def test_a_call_that_the_client_gives_up_is_cancelled_in_the_backend(slow: Slow):
    async with served(slow) as client:
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(client.call_tool, "verify_kernel", {"problem": "p", "source": kernel(5)})
            await slow.begun.wait()
            waiting.cancel_scope.cancel()
        with anyio.fail_after(10):
            await slow.cancelled.wait()
        slow.gate.set()
        assert (await call(client, "verify_kernel", problem="p", source=kernel(5)))["passed"]


async def test_a_detached_call_answers_at_once_tells_progress_and_then_the_result(slow: Slow):
    arguments = {"problem": "p", "source": kernel(5)}
    async with served(slow) as client:
        first = await call(client, "verify_kernel", **arguments, detach=True)
        assert first["pending"]
        assert first["passed"] is None
        assert "verify_kernel" in first["next_steps"][0]
        await slow.begun.wait()
        assert "case 3 of 20" in (await call(client, "verify_kernel", **arguments, detach=True))["summary"]
        slow.gate.set()
        done = await call(client, "verify_kernel", **arguments)
        assert done["passed"]
        assert not done["pending"]
        assert (await call(client, "verify_kernel", **arguments))["repeated"], "the result was handed over once"


@pytest.mark.parametrize("detach", [True, False])
async def test_a_result_about_a_file_that_was_edited_meanwhile_says_so(slow: Slow, detach: bool):
    slow.edit(kernel(5))
    answers: list[dict[str, Any]] = []
    async with served(slow) as client:

        async def verify() -> None:
            answers.append(await call(client, "verify_kernel", problem="p", detach=detach))

        async with anyio.create_task_group() as waiting:
            waiting.start_soon(verify)
            await slow.begun.wait()
            slow.edit(kernel(4, fails="values"))
            slow.gate.set()
        if detach:
            answers.append(await call(client, "verify_kernel", problem="p"))
        assert answers[-1]["passed"]
        assert "kernel.py was edited since this call read it" in answers[-1]["summary"]
        assert answers[-1]["next_steps"][0].startswith("verify_kernel: judge what kernel.py holds now")
        assert "no full verdict" in await refusal(client, "benchmark_kernel", problem="p")
        slow.edit(kernel(5))
        again = await call(client, "verify_kernel", problem="p")
        assert (again["repeated"], "edited" in again["summary"]) == (True, False)


@dataclass
class Waiting:
    """A world, its client, and detached calls that end before anybody fetches what they found."""

    world: World
    client: Client
    desk: Desk

    async def detach(self, tool: str, **arguments: Any) -> None:
        assert (await call(self.client, tool, **arguments, detach=True))["pending"]
        for begun in self.desk.pending._calls.values():
            await begun.done.wait()

    async def fetch(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await call(self.client, tool, **arguments)


@pytest.fixture
async def waiting(tmp_path: Any) -> AsyncGenerator[Waiting]:
    world = World(tmp_path)
    await world.open()
    async with staffed(world) as (client, desk):
        yield Waiting(world, client, desk)


async def test_a_claim_that_was_not_fetched_is_made_anew_when_another_kernel_is_best_by_then(waiting: Waiting):
    await waiting.world.attempt(kernel(5))
    await waiting.detach("finish_problem", problem="p")
    await waiting.world.attempt(kernel(2))
    claim = await waiting.fetch("finish_problem", problem="p")
    assert (claim["speedup"], claim["kept"]) == (5.0, 2)


async def test_a_claim_that_was_not_fetched_stands_while_the_same_kernel_is_best(waiting: Waiting):
    await waiting.world.attempt(kernel(5))
    await waiting.detach("finish_problem", problem="p")
    ran = len(waiting.world.backend.jobs)
    assert (await waiting.fetch("finish_problem", problem="p"))["speedup"] == 2.0
    assert len(waiting.world.backend.jobs) == ran, "it was measured while nobody waited"


@pytest.mark.parametrize("tool", ["verify_kernel", "evaluate_candidates", "profile_kernel"])
async def test_nothing_is_called_right_that_failed_before_its_result_was_fetched(waiting: Waiting, tool: str):
    text = kernel(5, program="p1")
    given: dict[str, Any] = {"kernels": [text]} if tool == "evaluate_candidates" else {"source": text}
    await waiting.world.verify(text)
    await waiting.detach(tool, problem="p", **given)
    waiting.world.refused = "note twin"
    assert not (await waiting.world.verify(kernel(5, program="p1", note="twin"))).passed
    answer = await waiting.fetch(tool, problem="p", **given)
    right = answer["counts"]["passed"] if "counts" in answer else answer.get("passed", answer.get("verified"))
    assert not right


async def test_a_keep_that_failed_before_its_result_was_fetched_is_refused(waiting: Waiting):
    text = kernel(5, program="p1")
    await waiting.world.verify(text)
    await waiting.detach("benchmark_kernel", problem="p", source=text)
    waiting.world.refused = "note twin"
    await waiting.world.verify(kernel(5, program="p1", note="twin"))
    assert "[gate.unverified]" in await refusal(waiting.client, "benchmark_kernel", problem="p", source=text)


@pytest.mark.parametrize("us", [12, 10.01, 5])
async def test_a_benchmark_names_no_best_that_failed_before_its_result_was_fetched(waiting: Waiting, us: float):
    await waiting.world.verify(kernel(us))
    await waiting.detach("benchmark_kernel", problem="p", source=kernel(us))
    bench = workbench(waiting.world.lab, "p")
    best = bench.problem.attempts.get(0)
    bench.keep_verdict(best, best.verdicts()[-1].model_copy(update={"passed": False}))
    answer = await waiting.fetch("benchmark_kernel", problem="p", source=kernel(us))
    status = await waiting.fetch("problem_status", problem="p")
    assert (answer["outcome"], answer["attempt"]) == ("keep", status["best"]["attempt"])
    assert answer["best_digest"] == status["best"]["digest"]


async def test_a_benchmark_names_no_best_whose_twin_failed_before_its_result_was_fetched(waiting: Waiting):
    slower = kernel(6)
    await waiting.world.attempt(kernel(5, program="p1"))
    await waiting.world.verify(slower)
    await waiting.detach("benchmark_kernel", problem="p", source=slower)
    waiting.world.refused = "note twin"
    assert not (await waiting.world.verify(kernel(5, program="p1", note="twin"))).passed
    waiting.world.refused = ""
    answer = await waiting.fetch("benchmark_kernel", problem="p", source=slower)
    assert (answer["outcome"], answer["best_digest"]) == ("keep", answer["digest"])


async def test_a_baseline_that_failed_before_it_was_fetched_is_none(waiting: Waiting):
    await waiting.world.attempt(kernel(8, program="p1"))
    waiting.world.edit(kernel(10, program="p2"))
    given: dict[str, Any] = {"reference": "reference.py", "name": "q"}
    await waiting.detach("open_problem", **given)
    wrong = kernel(10, program="p2", fails="values")
    assert not (await call(waiting.client, "verify_kernel", problem="q", source=wrong))["passed"]
    opened = await waiting.fetch("open_problem", **given)
    assert opened["baseline"] is None
    assert "There is no baseline" in opened["summary"]
    assert opened["next_steps"][0].startswith("Edit kernel.py")


async def test_a_beam_is_renewed_where_one_of_it_failed_before_it_was_fetched(waiting: Waiting):
    await waiting.fetch("evaluate_candidates", problem="p", kernels=[kernel(9.95, program="p1")])
    await waiting.detach("evaluate_candidates", problem="p", kernels=[kernel(9.96)])
    assert (await waiting.world.verify(kernel(9.95, program="p1", fails="values"))).guard.attempt == 3
    await waiting.world.reflect(3)
    answer = await waiting.fetch("evaluate_candidates", problem="p", kernels=[kernel(9.96)])
    assert [entry["attempt"] for entry in answer["beam"]] == [0, 2]


async def test_candidates_that_were_edited_meanwhile_are_named(waiting: Waiting):
    given: list[Any] = []
    for name in ("a.py", "b.py"):
        (waiting.world.workspace / name).write_text(kernel(5, note=name))
        given.append(name)
    given[1] = {"kernel": "b.py", "plan": "wider"}
    await waiting.detach("evaluate_candidates", problem="p", kernels=given)
    (waiting.world.workspace / "b.py").write_text(kernel(4, fails="values"))
    answer = await waiting.fetch("evaluate_candidates", problem="p", kernels=given)
    assert answer["counts"]["passed"] == 2
    assert "b.py was edited since this call read it" in answer["summary"]
    assert "a.py" not in answer["summary"]


async def test_candidates_say_that_best_was_put_back_into_the_working_file(waiting: Waiting):
    waiting.world.edit(kernel(4, fails="values"))
    for note in ("one", "two"):
        await waiting.world.verify(kernel(4, fails="values", note=note))
    answer = await waiting.fetch("evaluate_candidates", problem="p", kernels=["kernel.py"])
    assert answer["restored"] == "kernel.py"
    assert "Best is back in kernel.py" in answer["summary"]
    assert "edited" not in answer["summary"]


@pytest.mark.parametrize("tool", ["verify_kernel", "finish_problem", "evaluate_candidates", "open_problem"])
async def test_a_result_that_rests_on_a_reference_which_changed_meanwhile_is_refused(waiting: Waiting, tool: str):
    given: dict[str, Any] = {"reference": "reference.py"} if tool == "open_problem" else {"problem": "p"}
    given |= {"kernels": [kernel(5)]} if tool == "evaluate_candidates" else {}
    await waiting.detach(tool, **given)
    (waiting.world.workspace / "reference.py").write_text("def forward(x): return 2 * x\n")
    assert "[problem.changed]" in await refusal(waiting.client, tool, **given)


async def test_two_that_wait_for_one_detached_call_both_get_what_it_found(slow: Slow):
    arguments = {"problem": "p", "source": kernel(5)}
    answers: list[dict[str, Any]] = []
    async with served(slow) as client:
        await call(client, "verify_kernel", **arguments, detach=True)
        await slow.begun.wait()

        async def fetch() -> None:
            answers.append(await call(client, "verify_kernel", **arguments))

        async with anyio.create_task_group() as waiting:
            waiting.start_soon(fetch)
            waiting.start_soon(fetch)
            slow.gate.set()
    assert [answer["passed"] for answer in answers] == [True, True]


async def test_a_detached_call_that_failed_says_why_to_who_asks(slow: Slow):
    async with served(slow) as client:
        assert (await call(client, "profile_kernel", problem="q", detach=True))["pending"]
        assert "[problem.unknown]" in await refusal(client, "profile_kernel", problem="q")


async def test_ending_the_server_cancels_what_was_detached(slow: Slow):
    async with served(slow) as client:
        await call(client, "verify_kernel", problem="p", source=kernel(5), detach=True)
        await slow.begun.wait()
    assert slow.cancelled.is_set()


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_a_burst_of_messages_is_thinned_out_at_the_first():
    said: list[str] = []
    clock = Clock()

    async def send(_count: float, text: str) -> None:
        said.append(text)

    teller = Teller(send, clock)
    for number in range(10):
        await teller(f"case {number}")
    clock.now += APART_S
    await teller("case 10")
    assert said == ["case 0", "case 10"]


async def test_a_client_that_has_gone_does_not_fail_the_work():
    async def send(_count: float, _text: str) -> None:
        raise anyio.ClosedResourceError

    await Teller(send, Clock())("case 1")


def test_silence_is_broken_before_clients_give_up():
    assert QUIET_S < 10
