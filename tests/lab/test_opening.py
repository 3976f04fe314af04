from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from lab_world import World, kernel
from served import call, refusal, served, staffed

from nki_anvil.backends.errors import ProblemChanged
from nki_anvil.lab import opening, seeds
from nki_anvil.lab.loading import load
from nki_anvil.server import shelf

pytestmark = pytest.mark.anyio


async def test_what_one_problem_rests_on_is_no_kernel_file_of_another(world: World):
    (world.workspace / "second.py").write_text("def forward(x): return 2 * x\n")
    (world.workspace / "alias.py").symlink_to("reference.py")
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py", name="p")
        for path in ("reference.py", "alias.py"):
            asked = {"reference": "second.py", "name": "q", "kernel_path": path}
            assert "[arguments.invalid]" in await refusal(client, "open_problem", **asked)
        assert "[problem.unknown]" in await refusal(client, "problem_status", problem="q")
        await call(client, "open_problem", reference="second.py", name="q")
        for path in ("reference.py", "alias.py"):
            asked = {"reference": "second.py", "name": "q", "kernel_path": path}
            assert "rests on" in await refusal(client, "open_problem", **asked), "taken up again"


async def test_no_problem_is_opened_that_would_rest_on_the_kernel_file_of_another(world: World):
    (world.workspace / "second.py").write_text(kernel(10.0))
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py", name="p", kernel_path="second.py")
        assert "rests on" in await refusal(client, "open_problem", reference="second.py", name="q")
        assert "[problem.unknown]" in await refusal(client, "problem_status", problem="q")


OPEN = {"reference": "reference.py"}


async def test_opening_says_that_the_kernel_file_was_edited_while_its_first_text_was_judged(world: World):
    world.meanwhile = lambda: world.edit(kernel(1, fails="values"))
    async with served(world) as client:
        opened = await call(client, "open_problem", **OPEN)
    assert opened["baseline"]["latency_us"] == 10
    assert "kernel.py holds a text without a verdict" in opened["summary"]
    assert opened["next_steps"] == ["verify_kernel: judge what kernel.py holds now."]


async def test_the_first_kernels_function_is_the_one_that_every_later_text_is_judged_by(world: World):
    world.edit("import nki\n\n\n@nki.jit\ndef scaled(x):\n    return x\n")
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        world.edit("import nki\n\n\n@nki.jit\ndef kernel(x):\n    return x\n")
        await call(client, "open_problem", **OPEN)
    assert world.lab.problem("p").specification.entry == "scaled"


async def test_a_first_text_without_one_function_leaves_open_which_is_entered(world: World):
    world.edit("x = 1\n")
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
    assert world.lab.problem("p").specification.entry is None


@pytest.mark.parametrize("name", ["kernel.py", "new.py"])
async def test_an_open_problem_is_taken_up_with_what_is_known_of_its_kernel_file(world: World, name: str):
    again = OPEN if name == "kernel.py" else {**OPEN, "kernel_path": name}
    async with served(world) as client:
        assert "holds" not in (await call(client, "open_problem", **OPEN))["summary"]
        (world.workspace / name).write_text(kernel(3, fails="values"))
        assert f"{name} holds a text without a verdict" in (await call(client, "open_problem", **again))["summary"]
        assert not (await call(client, "verify_kernel", problem="p"))["passed"]
        assert f"{name} holds a kernel that failed" in (await call(client, "open_problem", **again))["summary"]
        await call(client, "revert_to_best", problem="p")
        assert "holds" not in (await call(client, "open_problem", **again))["summary"]


async def test_an_open_problem_is_taken_up_although_its_kernel_file_is_gone_or_no_text(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        world.file.unlink()
        opened = await call(client, "open_problem", **OPEN)
        assert "kernel.py is gone" in opened["summary"]
        assert opened["next_steps"] == ["revert_to_best: kernel.py is gone."]
        world.file.write_bytes(b"\xff")
        assert "without a verdict" in (await call(client, "open_problem", **OPEN))["summary"]


async def test_a_kernel_file_that_was_edited_before_an_opening_was_fetched_is_named(world: World):
    async with staffed(world) as (client, desk):
        assert (await call(client, "open_problem", **OPEN, detach=True))["pending"]
        for begun in desk.pending._calls.values():
            await begun.done.wait()
        world.edit(kernel(3, fails="values"))
        opened = await call(client, "open_problem", **OPEN)
    assert "kernel.py was edited since this call read it" in opened["summary"]
    assert opened["next_steps"][0] == "verify_kernel: judge what kernel.py holds now."


async def test_a_call_that_was_killed_leaves_no_baseline_to_the_next_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    world.edit(kernel(100))
    with monkeypatch.context() as dying:
        dying.setattr(opening, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            await world.open()
    own = world.edit(kernel(10))
    world.lab = world.again()
    opened = await world.open()
    assert opened.baseline.latency_us == 10
    assert world.lab.problem("p").attempts.get(0).text() == own
    assert [text.read_text() for text in world.state.parent.glob(".p.*/attempts/0000/kernel.py")] == [kernel(100)]


@pytest.mark.parametrize("back", [timedelta(0), timedelta(hours=5)], ids=["a clock that runs", "a clock put back"])
async def test_who_names_no_problem_goes_on_with_the_one_that_was_opened_last(world: World, back: timedelta) -> None:
    await world.open(name="z")
    world.now -= back
    await world.open(name="b")
    assert (await world.open()).problem == "b"
    await world.open(name="z")
    world.lab = world.again()
    assert (await world.open()).problem == "b", "to go on with another is not to open it"


async def test_a_problem_whose_record_is_gone_is_opened_anew_and_keeps_no_speeds(world: World) -> None:
    await world.open()
    await world.attempt(kernel(5))
    (world.state / "problem.json").unlink()
    for lab in (world.lab, world.again()):
        world.lab = lab
        opened = await world.open(tolerance=1e-6)
        assert opened.baseline.attempt == 0
        assert len(world.lab.problem("p").attempts.all()) == 1


@pytest.mark.parametrize("file", ["reference", "declared"])
async def test_a_seed_is_what_was_read_and_not_what_was_compared_before(tmp_path: Path, file: str):
    found = await load(seeds.place("softmax"))
    seeds.refuse_exchanged("softmax", found)
    exchanged = found.model_copy(update={f"{file}_digest": "0" * 64})
    with pytest.raises(ProblemChanged, match="is not that of seed:softmax"):
        seeds.refuse_exchanged("softmax", exchanged)


async def test_a_seed_that_starts_from_another_kernel_than_its_own_says_so(world: World):
    async with served(world) as client:
        other = await call(client, "open_problem", reference="seed:softmax", kernel_path="kernel.py", name="other")
        own = {"reference": "seed:softmax", "kernel_path": "kernels/softmax/kernel.py", "name": "own"}
        assert (await call(client, "open_problem", **own))["warnings"] == []
        (world.workspace / own["kernel_path"]).write_text(kernel(5))
        assert (await call(client, "open_problem", **own))["warnings"] == [], "its first kernel is still the seed's"
    assert other["warnings"] == [
        "The starting kernel is what kernel.py held when this was opened, not the kernel of seed:softmax: speedups "
        "over the baseline say nothing of the seed."
    ]


async def test_a_backup_among_the_problems_keeps_nobody_from_the_others(world: World) -> None:
    await world.open()
    for name in ("p copy", "p.old"):
        shutil.copytree(world.state, world.state.with_name(name))
    assert (await world.open()).problem == "p"
    assert [("refused" in line) for line in shelf.problems(world.lab)] == [False, True]
