"""What can be read, and what tells of changes."""

import json

import pytest
from lab_world import World, kernel
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference
from served import call, refusal, served

from nki_anvil.server.notices import uris

pytestmark = pytest.mark.anyio
OPEN = {"reference": "reference.py"}
LESSON = {"title": "Fuse it", "when_to_use": "always", "advice": "fuse the steps"}


async def read(client: Client, uri: str) -> str:
    return (await client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]


async def test_the_index_lists_every_resource_because_clients_list_no_templates(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        index = await read(client, "anvil://index")
    for uri in ("anvil://problems", "anvil://problems/p/best", "anvil://problems/p/attempts", "anvil://guides/errors"):
        assert uri in index


async def test_looking_around_leaves_no_state_behind(world: World):
    async with served(world) as client:
        assert json.loads(await read(client, "anvil://problems")) == []
        await read(client, "anvil://index")
    assert not (world.workspace / ".nki-anvil").exists()


async def test_a_problem_its_best_and_its_attempts_can_be_read(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "verify_kernel", problem="p", source=kernel(5), plan="halve it")
        await call(client, "benchmark_kernel", problem="p", source=kernel(5))
        problem = json.loads(await read(client, "anvil://problems/p"))
        assert problem["best"]["modelled"]["latency_us"] == 5
        assert await read(client, "anvil://problems/p/best") == kernel(5)
        attempts = json.loads(await read(client, "anvil://problems/p/attempts"))
        assert [attempt["outcome"] for attempt in attempts] == ["keep", "keep"]
        first = json.loads(await read(client, "anvil://problems/p/attempts/1"))
        assert first["kernel"] == kernel(5)
        assert first["plan"] == "halve it"
        assert json.loads(await read(client, f"anvil://problems/p/attempts/{first['digest'][:12]}")) == first


async def test_best_is_not_read_as_best_where_nobody_has_judged_it_since(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        assert json.loads(await read(client, "anvil://problems/p"))["best"]["modelled"]["verified"]
        world.backend.toolchain = "fake-2"
        assert not json.loads(await read(client, "anvil://problems/p"))["best"]["modelled"]["verified"]
        with pytest.raises(MCPError, match=r"gate\.unverified.*") as caught:
            await read(client, "anvil://problems/p/best")
        assert await read(client, "anvil://problems/p/attempts/0")
        assert "anvil://problems/p/attempts/0" in caught.value.error.message
        await call(client, "open_problem", **OPEN)
        assert await read(client, "anvil://problems/p/best") == kernel(10.0)


async def test_attempts_and_problems_say_what_holds_today(world: World):
    async def told(client: Client) -> tuple[bool | None, str | None, float | None, bool | None]:
        line = json.loads(await read(client, "anvil://problems/p/attempts"))[1]
        whole = json.loads(await read(client, "anvil://problems/p/attempts/1"))
        assert {name: whole[name] for name in line} == line
        best = json.loads(await read(client, "anvil://problems"))[0]["best"]["modelled"]
        return line["passed"], line["outcome"], line["speedup"], best["verified"]

    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "evaluate_candidates", problem="p", kernels=[kernel(5, program="wrong")])
        assert await told(client) == (True, "keep", 2.0, True)
        world.backend.toolchain = "fake-2"
        assert await told(client) == (None, "keep", 2.0, False)
        world.backend.toolchain = "fake-1"
        await call(client, "verify_kernel", problem="p", source=kernel(5, program="wrong", fails="values"))
        assert await told(client) == (False, None, None, True)


async def test_a_problem_whose_reference_changed_says_so_and_has_no_best_to_read(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        assert json.loads(await read(client, "anvil://problems"))[0]["changed"] is None
        (world.workspace / "reference.py").write_text("def forward(x): return 2 * x\n")
        assert json.loads(await read(client, "anvil://problems"))[0]["changed"].endswith("reference.py")
        with pytest.raises(MCPError, match=r"problem\.changed"):
            await read(client, "anvil://problems/p/best")


async def test_attempts_say_what_they_were_judged_by_that_changed_since(world: World):
    uris = ("anvil://problems/p/attempts", "anvil://problems/p/attempts/1")

    async def told(client: Client) -> list[tuple[bool | None, str | None]]:
        listed, whole = [json.loads(await read(client, uri)) for uri in uris]
        return [(line["passed"], line["changed"]) for line in (listed[1], whole)]

    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "verify_kernel", problem="p", source=kernel(5))
        assert await told(client) == [(True, None)] * 2
        reference = world.workspace / "reference.py"
        reference.write_text("def forward(x): return 2 * x\n")
        assert await told(client) == [(None, str(reference))] * 2


async def test_a_copied_workspace_speaks_of_its_own_problems_and_not_of_the_originals(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "profile_kernel", problem="p")
        await call(client, "finish_problem", problem="p")
    world.lab = world.copied()
    async with served(world) as client:
        await call(client, "open_problem", name="q", kernel_path="kernel.py", **OPEN)
        copied, own = json.loads(await read(client, "anvil://problems"))
        assert (copied["problem"], own["problem"]) == ("p", "q")
        assert "[path.outside_workspace]" in copied["refused"]
        assert "best" not in copied
        for part in (
            "",
            "/best",
            "/attempts",
            "/attempts/0",
            "/report",
            f"/timeline/{own['best']['modelled']['digest']}",
        ):
            with pytest.raises(MCPError, match=r"path\.outside_workspace"):
                await read(client, f"anvil://problems/p{part}")
        assert await read(client, "anvil://problems/q/best") == kernel(10.0)
        for tool, more in {"query_memory": {}, "add_experience": {"kind": "fact", "attempt": 0, **LESSON}}.items():
            assert "[path.outside_workspace]" in await refusal(client, tool, problem="p", **more)


async def test_status_and_a_revert_say_where_nobody_has_judged_best_since(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        status = await call(client, "problem_status", problem="p")
        assert (status["best"]["verified"], "no verdict of today" in status["summary"]) == (True, False)
        world.backend.toolchain = "fake-2"
        status = await call(client, "problem_status", problem="p")
        assert (status["best"]["verified"], "no verdict of today" in status["summary"]) == (False, True)
        assert status["next_steps"][0].startswith("open_problem")
        world.edit(kernel(7))
        reverted = await call(client, "revert_to_best", problem="p")
        assert (reverted["verified"], "no verdict of today" in reverted["summary"]) == (False, True)
        assert reverted["next_steps"][0].startswith("verify_kernel")
        await call(client, "verify_kernel", problem="p")
        assert (await call(client, "revert_to_best", problem="p"))["verified"]


async def test_the_addresses_in_results_can_be_read(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        profile = await call(client, "profile_kernel", problem="p")
        json.loads(await read(client, profile["timeline"]))
        finished = await call(client, "finish_problem", problem="p")
        assert "<html" in await read(client, finished["report"])
        evaluated = await call(client, "evaluate_candidates", problem="p", kernels=[kernel(4), kernel(3)])
        await read(client, evaluated["all"])


async def test_a_report_that_is_read_claims_what_holds_by_then(world: World):
    uri = "anvil://problems/p/report"
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        for tool in ("verify_kernel", "benchmark_kernel"):
            await call(client, tool, problem="p", source=kernel(5, program="wrong"))
        await call(client, "finish_problem", problem="p")
        page = await read(client, uri)
        assert "<b>2×</b><span>of the baseline, modelled anew" in page
        world.backend.toolchain = "fake-2"
        page = await read(client, uri)
        assert "modelled anew" not in page, "it was another simulator's"
        assert "no verdict of today" in page
        world.backend.toolchain = "fake-1"
        await call(client, "verify_kernel", problem="p", source=kernel(5, program="wrong", fails="values"))
        page = await read(client, uri)
        assert "best, attempt 0;" in page
        assert "2×" not in page
        assert "2.000" not in page
        (world.workspace / "reference.py").write_text("def forward(x): return 2 * x\n")
        with pytest.raises(MCPError, match=r"problem\.changed"):
            await read(client, uri)


@pytest.mark.parametrize(
    "uri",
    [
        "anvil://problems/none", "anvil://problems/p/attempts/77", "anvil://problems/p/attempts/x",
        "anvil://problems/p/report", "anvil://problems/p/timeline/0123456789ab", "anvil://guides/cooking",
        "anvil://experiences/exp-none", "anvil://nothing",
    ],
)  # fmt: skip
async def test_what_is_not_there_is_not_found(world: World, uri: str):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        with pytest.raises(MCPError) as caught:
            await read(client, uri)
    assert caught.value.error.code == -32602


async def test_an_address_that_leads_nowhere_is_answered_with_the_index(world: World):
    async with served(world) as client:
        for uri in ("bogus://x", "anvil://nothing"):
            with pytest.raises(MCPError, match=f"There is no resource {uri}: anvil://index lists them"):
                await read(client, uri)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("diagnose", {}, "The prompt diagnose needs the argument 'problem'. anvil://problems lists the open ones."),
        ("diagnos", {"problem": "p"}, "There is no prompt 'diagnos' (did you mean 'diagnose'?)."),
        ("reflect", {"problem": "p", "atempt": "1"}, "takes no 'atempt' (did you mean 'attempt'?)."),
    ],
)
async def test_a_prompt_asked_for_wrongly_is_refused_as_invalid_parameters(
    world: World, name: str, given: dict[str, str], said: str, caplog: pytest.LogCaptureFixture
):
    async with served(world) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, given)
    assert caught.value.error.code == -32602
    assert said in caught.value.error.message
    assert caught.value.error.message.endswith("[arguments.invalid]")
    assert "Traceback" not in caplog.text


async def test_every_guide_is_listed_with_its_title_and_can_be_read(world: World):
    async with served(world) as client:
        guides = [one for one in (await client.list_resources()).resources if one.uri.startswith("anvil://guides/")]
        assert guides
        for guide in guides:
            assert guide.title
            assert (await read(client, guide.uri)).startswith(f"# {guide.title}")


async def test_prompts_are_filled_from_live_state(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "verify_kernel", problem="p", source=kernel(6, fails="values"), plan="be hasty")
        for prompt in (await client.list_prompts()).prompts:
            text = (await client.get_prompt(prompt.name, {"problem": "p"})).messages[0].content.text  # type: ignore[union-attr]
            assert prompt.description
            assert "{{" not in text
            assert "(unknown:" not in text
        optimize = (await client.get_prompt("optimize", {"problem": "p"})).messages[0].content.text  # type: ignore[union-attr]
    assert "be hasty" in optimize
    assert "attempt 0 at 10 us" in optimize


async def test_a_prompt_for_an_unknown_problem_says_so(world: World):
    async with served(world) as client:
        text = (await client.get_prompt("optimize", {"problem": "q"})).messages[0].content.text  # type: ignore[union-attr]
    assert "[problem.unknown]" in text


async def test_arguments_of_prompts_and_templates_are_completed(world: World):
    template = ResourceTemplateReference(uri="anvil://problems/{problem}/attempts/{attempt}")
    async with served(world) as client:
        await call(client, "open_problem", name="rmsnorm", **OPEN)
        named = await client.complete(PromptReference(name="optimize"), {"name": "problem", "value": "rms"})
        assert named.completion.values == ["rmsnorm"]
        context = {"problem": "rmsnorm"}
        numbers = await client.complete(template, {"name": "attempt", "value": ""}, context_arguments=context)
        assert numbers.completion.values == ["0"]
        guide = ResourceTemplateReference(uri="anvil://guides/{topic}")
        topics = await client.complete(guide, {"name": "topic", "value": "err"})
        assert topics.completion.values == ["errors"]


async def test_a_new_best_and_a_new_attempt_are_told_to_who_listens(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        best, attempts = "anvil://problems/p/best", "anvil://problems/p/attempts"
        async with client.listen(resource_subscriptions=[best, attempts]) as events:
            await call(client, "verify_kernel", problem="p", source=kernel(5))
            assert (await anext(events)).uri == attempts  # type: ignore[union-attr]
            await call(client, "benchmark_kernel", problem="p", source=kernel(5))
            heard = {(await anext(events)).uri}  # type: ignore[union-attr]
            while best not in heard:
                heard.add((await anext(events)).uri)  # type: ignore[union-attr]


def test_a_change_touches_what_summarises_it_too():
    assert uris("p", "attempt", 3) == [
        "anvil://problems/p/attempts/3",
        "anvil://problems/p/attempts",
        "anvil://problems/p",
        "anvil://problems/p/report",
    ]
