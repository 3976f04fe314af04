"""Arguments as models send them."""

import pytest
from lab_world import World
from served import call, refusal, served

pytestmark = pytest.mark.anyio


async def test_an_unknown_argument_is_refused_with_the_one_that_was_meant(world: World):
    async with served(world) as client:
        text = await refusal(client, "verify_kernel", problem="p", kernal_path="kernel.py")
    assert text == "verify_kernel: unknown argument 'kernal_path' (did you mean 'kernel_path'?). [arguments.invalid]"


async def test_an_argument_like_no_other_is_refused_with_those_there_are(world: World):
    async with served(world) as client:
        text = await refusal(client, "problem_status", problem="p", verbosity=3)
    assert "it takes problem" in text


async def test_every_wrong_argument_is_named_without_links_to_a_library(world: World):
    async with served(world) as client:
        text = await refusal(client, "query_memory", limit=99, kind="story")
    assert "'limit'" in text
    assert "'kind'" in text
    assert "pydantic" not in text
    assert text.endswith("[arguments.invalid]")


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("evaluate_candidates", {"kernels": []}, "'kernels' must have at least 1 item, and has none."),
        ("evaluate_candidates", {"kernels": 7}, "'kernels' must be a list, and is 7."),
        ("query_memory", {"limit": 99}, "'limit' must be at most "),
        ("query_memory", {"kind": "story"}, "and is 'story'."),
        ("record_reflexion", {"attempt": -1}, "'attempt' must be at least 0, and is -1"),
        ("record_reflexion", {"attempt": "two"}, "'attempt' must be a whole number, and is 'two'"),
        ("record_reflexion", {"attempt": 1.5}, "'attempt' must be a whole number, and is 1.5"),
        ("verify_kernel", {"problem": ["p"]}, "'problem' must be a text, and is a list"),
        ("verify_kernel", {"problem": 7}, "'problem' must be a text, and is 7"),
    ],
)
async def test_a_wrong_value_is_told_in_plain_words_with_its_name(
    world: World, tool: str, given: dict[str, object], said: str
):
    async with served(world) as client:
        text = await refusal(client, tool, **{"problem": "p", **given} if tool != "query_memory" else given)
    assert said in text
    for foreign in ("Input should", "should be", "validation", "valid "):
        assert foreign not in text


async def test_a_missing_argument_is_named(world: World):
    async with served(world) as client:
        assert "'problem' is missing" in await refusal(client, "revert_to_best")


async def test_null_leaves_an_argument_out(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py", name=None, tolerance=None)


async def test_a_plan_that_happens_to_be_json_stays_a_text(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        result = await call(client, "verify_kernel", problem="p", plan='{"step": 1}')
    assert result["attempt"] == 0


async def test_kernels_given_as_a_json_text_are_read_as_a_list(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        kernels = '["latency 5\\n", {"kernel": "kernel.py"}]'
        result = await call(client, "evaluate_candidates", problem="p", kernels=kernels)
    assert sum(result["counts"].values()) >= 2


async def test_an_unknown_tool_is_answered_with_those_there_are(world: World):
    async with served(world) as client:
        assert "verify_kernel" in await refusal(client, "verify")


async def test_a_wrong_name_inside_a_kernel_is_named_with_its_place(world: World):
    async with served(world) as client:
        text = await refusal(
            client, "evaluate_candidates", problem="p", kernels=["a.py", {"kernel": "b.py", "plam": "x"}]
        )
    assert text == "evaluate_candidates: unknown name 'plam' in 'kernels[1]'. [arguments.invalid]"
