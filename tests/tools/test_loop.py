"""The state machine as a client meets it: what each tool answers, and what it leads to."""

import json

import pytest
from lab_world import World, kernel
from served import call, refusal, served

pytestmark = pytest.mark.anyio
OPEN = {"reference": "reference.py"}


async def test_opening_measures_a_baseline_and_says_what_comes_next(world: World):
    async with served(world) as client:
        opened = await call(client, "open_problem", **OPEN)
    assert opened["baseline"]["latency_us"] == 10
    assert "Baseline 10 us" in opened["summary"]
    assert any("profile_kernel" in step for step in opened["next_steps"])


async def test_an_unverified_kernel_is_refused_by_the_benchmark(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        world.edit(kernel(5))
        assert "[gate.unverified]" in await refusal(client, "benchmark_kernel", problem="p")


async def test_an_improvement_is_kept_reflected_remembered_and_found_again(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        world.edit(kernel(5))
        assert (await call(client, "verify_kernel", problem="p", plan="move more at once"))["passed"]
        kept = await call(client, "benchmark_kernel", problem="p")
        assert kept["outcome"] == "keep"
        assert kept["speedup"] == 2
        entry = {"diagnosis": "d", "change": "c", "expected": "e", "lesson": "larger is better"}
        noted = await call(client, "record_reflexion", problem="p", attempt=1, expected_speedup=2, **entry)
        assert noted["was_expected"]
        words = {"title": "Move more at once", "when_to_use": "small transfers", "advice": "Merge the transfers."}
        added = await call(client, "add_experience", kind="speedup", problem="p", attempt=1, **words)
        assert added["status"] == "added"
        found = await call(client, "query_memory", problem="p", text="small transfers")
    assert found["experiences"][0]["evidence"]["kept"] == 1
    assert found["experiences"][0]["evidence"]["speedup"] == 2
    assert found["reflexions"][0]["lesson"] == "larger is better"
    assert found["shown_id"]


async def test_what_no_case_shows_of_a_kernel_is_told_when_it_passes_and_when_it_is_claimed(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        world.edit(kernel(5, idle="floor"))
        verified = await call(client, "verify_kernel", problem="p")
        assert (verified["passed"], verified["warnings"]) == (True, ["floor"])
        assert "but for what no case shows" in verified["summary"]
        assert "Leave out" in verified["next_steps"][0]
        await call(client, "benchmark_kernel", problem="p")
        finished = await call(client, "finish_problem", problem="p")
    assert finished["unjudged"] == ["floor"]
    assert "1 choice of its text shows in no case" in finished["summary"]


async def test_a_surprise_says_which_way_it_went(world: World):
    entry = {"diagnosis": "d", "change": "c", "expected": "e", "lesson": "l"}
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        world.edit(kernel(5))
        await call(client, "verify_kernel", problem="p")
        await call(client, "benchmark_kernel", problem="p")
        said = {}
        for expected in (1.5, 2.0, 3.0):
            noted = await call(client, "record_reflexion", problem="p", attempt=1, expected_speedup=expected, **entry)
            said[expected] = noted["summary"]
        failed = await call(client, "verify_kernel", problem="p", source=kernel(4, fails="values"))
        noted = await call(
            client, "record_reflexion", problem="p", attempt=failed["attempt"], expected_speedup=1.5, **entry
        )
    assert "Better than expected (1.500x)." in said[1.5]
    assert "As expected." in said[2.0]
    assert "Worse than expected (3.000x)." in said[3.0]
    assert "Worse than expected." in noted["summary"]


async def test_a_slower_kernel_is_reverted_and_the_restored_file_is_to_be_read_again(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        world.edit(kernel(12))
        await call(client, "verify_kernel", problem="p")
        reverted = await call(client, "benchmark_kernel", problem="p")
    assert reverted["outcome"] == "revert"
    assert world.file.read_text() == kernel(10.0)
    assert any("again" in step for step in reverted["next_steps"])


async def test_advice_that_was_shown_is_credited_with_what_came_of_it(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        words = {"title": "Merge transfers", "when_to_use": "small transfers", "advice": "Merge them."}
        await call(client, "add_experience", kind="fact", **words)
        shown = await call(client, "query_memory", text="small transfers")
        world.edit(kernel(5))
        await call(client, "verify_kernel", problem="p", shown_id=shown["shown_id"])
        await call(client, "benchmark_kernel", problem="p")
        again = await call(client, "query_memory", text="small transfers")
    assert again["experiences"][0]["evidence"]["kept"] == 1


async def test_an_unknown_shown_id_loses_no_verdict(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        verdict = await call(client, "verify_kernel", problem="p", source=kernel(5, fails="values"), shown_id="s-none")
    assert not verdict["passed"]
    assert "No advice was credited" in verdict["summary"]


async def test_a_speedup_without_a_kept_attempt_is_not_remembered(world: World):
    words = {"title": "t", "when_to_use": "w", "advice": "a", "kind": "speedup"}
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        assert "[memory.invalid]" in await refusal(client, "add_experience", **words)
        await call(client, "verify_kernel", problem="p", source=kernel(5, fails="values"))
        assert "[memory.invalid]" in await refusal(client, "add_experience", problem="p", attempt=1, **words)
        assert "[arguments.invalid]" in await refusal(client, "add_experience", attempt=1, **words)


async def test_a_closed_guard_names_the_one_step_that_opens_it(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        steps: list[str] = []
        for number in range(3):
            wrong = kernel(fails="values", note=str(number))
            steps = (await call(client, "verify_kernel", problem="p", source=wrong))["next_steps"]
        assert [step for step in steps if "record_reflexion" in step] == steps
        text = await refusal(client, "verify_kernel", problem="p", source=kernel(fails="values", note="more"))
        assert "[guard.reflexion_required]" in text
        status = await call(client, "problem_status", problem="p")
    assert status["guard"]["state"] == "closed"
    assert "record_reflexion" in status["next_steps"][0]


async def test_an_unknown_problem_is_answered_with_the_nearest_names(world: World):
    async with served(world) as client:
        await call(client, "open_problem", name="rmsnorm", **OPEN)
        text = await refusal(client, "problem_status", problem="rmsnrm")
    assert "rmsnorm" in text
    assert "[problem.unknown]" in text


async def test_a_path_outside_the_workspace_is_refused_also_through_a_link(world: World):
    secret = world.root / "secret.py"
    secret.write_text(kernel(1))
    (world.workspace / "link.py").symlink_to(secret)
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        for path in ("../secret.py", "link.py", str(secret)):
            text = await refusal(client, "verify_kernel", problem="p", kernel_path=path)
            assert "[path.outside_workspace]" in text


async def test_a_machine_that_does_not_answer_is_an_error_with_a_code(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        world.backend.down = True
        assert "[backend.unreachable]" in await refusal(client, "profile_kernel", problem="p", source=kernel(3))


async def test_a_mistake_of_our_own_is_told_without_its_inner_text(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)

        def broken(_job: object) -> None:
            raise ZeroDivisionError("secret inner text")

        world.backend.before = broken
        text = await refusal(client, "profile_kernel", problem="p", source=kernel(3))
    assert "ZeroDivisionError" in text
    assert "secret" not in text
    assert text.endswith("[internal]")


async def test_two_clients_on_one_workspace_do_not_overwrite_each_others_best(world: World):
    other = World(world.root)
    world.edit(kernel(10))
    async with served(world) as first, served(other) as second:
        await call(first, "open_problem", **OPEN)
        await call(second, "verify_kernel", problem="p", source=kernel(4))
        assert (await call(second, "benchmark_kernel", problem="p", source=kernel(4)))["outcome"] == "keep"
        await call(first, "verify_kernel", problem="p", source=kernel(6))
        assert (await call(first, "benchmark_kernel", problem="p", source=kernel(6)))["outcome"] == "revert"
        status = await call(first, "problem_status", problem="p")
    assert status["best"]["latency_us"] == 4


async def test_a_baseline_that_failed_since_carries_no_claim_and_every_answer_says_so(world: World):
    world.edit(kernel(10, program="wrong"))
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        for us in (8, 4):
            for tool in ("verify_kernel", "benchmark_kernel"):
                await call(client, tool, problem="p", source=kernel(us))
        await call(client, "verify_kernel", problem="p", source=kernel(10, program="wrong", fails="values"))
        answers = [
            await call(client, "problem_status", problem="p"),
            await call(client, "open_problem", **OPEN),
            await call(client, "benchmark_kernel", problem="p", source=kernel(4)),
            await call(client, "finish_problem", problem="p"),
        ]
    assert all("Attempt 0, kept before, has failed since" in answer["summary"] for answer in answers)
    status, opened, benchmarked, finished = answers
    assert status["baseline"] == opened["baseline"]
    assert status["baseline"]["attempt"] == 1
    assert [status["best"]["speedup_vs_baseline"], benchmarked["speedup_vs_baseline"], finished["speedup"]] == [2, 2, 2]
    assert finished["faults"] is None


async def test_a_claim_is_of_the_last_best_and_is_said_not_to_stand_on_records_that_were_edited(world: World):
    world.edit(kernel(10))
    pointer, record = world.state / "best.modelled.json", world.state / "attempts/0001/benchmark.json"
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        kept: list[str] = []
        for us in (5, 2):
            await call(client, "verify_kernel", problem="p", source=kernel(us))
            await call(client, "benchmark_kernel", problem="p", source=kernel(us))
            kept.append(pointer.read_text())
        pointer.write_text(kept[0])
        put_back = await call(client, "finish_problem", problem="p")
        record.write_text(record.read_text().replace('"new_us": 5.0', '"new_us": 4.0'))
        edited = await call(client, "finish_problem", problem="p")
    assert put_back.get("faults") is None
    assert put_back["speedup"] == 5
    assert "this claim does not stand" in edited["summary"]
    assert any("attempt 1" in fault for fault in edited["faults"])
    assert "nki-anvil audit" in edited["next_steps"][0]


async def test_every_result_of_a_round_stays_below_two_thousand_tokens(world: World):
    async with served(world) as client:
        results = [await call(client, "open_problem", **OPEN)]
        for number in range(12):
            world.edit(kernel(9 - number / 2, note="a plan " * 10))
            results.append(await call(client, "verify_kernel", problem="p", plan="a plan that says what it tries " * 3))
            results.append(await call(client, "benchmark_kernel", problem="p"))
        results.append(await call(client, "profile_kernel", problem="p"))
        candidates = [kernel(3 - number / 100, note=str(number)) for number in range(20)]
        results.append(await call(client, "evaluate_candidates", problem="p", kernels=candidates))
        results.append(await call(client, "problem_status", problem="p"))
        results.append(await call(client, "finish_problem", problem="p"))
    costs = [len(json.dumps(result, separators=(",", ":"))) / 4 for result in results]
    assert max(costs) < 2000
