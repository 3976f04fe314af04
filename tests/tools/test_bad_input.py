"""What a client may send by mistake: one clear sentence with a code each, and the problem goes on as before."""

from pathlib import Path
from typing import Any

import pytest
from lab_world import World, kernel
from served import call, refusal, served

pytestmark = pytest.mark.anyio


def spoil(workspace: Path) -> None:
    """Files of every kind that is no kernel."""
    (workspace / "folder").mkdir()
    (workspace / "binary.py").write_bytes(bytes(range(256)))
    (workspace / "huge.py").write_text("#" * (5 << 20))
    (workspace.parent / "secret.py").write_text("x = 1\n")
    (workspace / "link.py").symlink_to(workspace.parent / "secret.py")
    (workspace / "loop.py").symlink_to(workspace / "loop.py")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"kernel_path": "none.py"},
            "none.py does not exist. Give the path of a kernel file in UTF-8, of at most 1 MiB. [path.unreadable]",
        ),
        ({"kernel_path": "folder"}, "folder is a folder."),
        ({"kernel_path": "binary.py"}, "binary.py is not UTF-8."),
        ({"kernel_path": "huge.py"}, "huge.py is larger than 1 MiB."),
        ({"kernel_path": "loop.py"}, "[path.unreadable]"),
        ({"kernel_path": "nul\0.py"}, "[path.unreadable]"),
        ({"kernel_path": "../secret.py"}, "[path.outside_workspace]"),
        ({"kernel_path": "link.py"}, "[path.outside_workspace]"),
        ({"kernel_path": "/etc/passwd"}, "[path.outside_workspace]"),
        ({"kernel_path": "kernel.py", "source": "x\n"}, "[arguments.invalid]"),
        (
            {"source": "#" * 3_000_000},
            "The source has 3000000 bytes, and a kernel may have 1048576. "
            "Pass data as an input instead of as text, and repeat with loops. [arguments.invalid]",
        ),
        ({"source": "\u00e9" * (1 << 19) + "x"}, "[arguments.invalid]"),
        ({"source": 7}, "[arguments.invalid]"),
        ({"parent": "zz"}, "[attempt.unknown]"),
    ],
)
async def test_a_kernel_that_cannot_be_taken_is_refused_and_changes_nothing(
    world: World, given: dict[str, Any], said: str
):
    spoil(world.workspace)
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        for tool in ("verify_kernel", "benchmark_kernel"):
            refused = await refusal(
                client, tool, problem="p", **{"source": kernel(3), **given} if "parent" in given else given
            )
            assert said in refused or ("parent" in given and "[gate.unverified]" in refused)
            assert "Traceback" not in refused
        status = await call(client, "problem_status", problem="p")
    assert [line["attempt"] for line in status["attempts"]] == [0]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"reference": "none.py"}, "path.unreadable"),
        ({"reference": "../secret.py"}, "path.outside_workspace"),
        ({"reference": "link.py"}, "path.outside_workspace"),
        ({"reference": "seed:rmsnrom"}, "problem.unknown"),
        ({"reference": "reference.py", "name": "../p"}, "arguments.invalid"),
        ({"reference": "reference.py", "backend": "mainframe"}, "backend.unsupported"),
        ({"reference": "reference.py", "kernel_path": "none.py"}, "kernel.missing"),
        ({"reference": ["reference.py"]}, "arguments.invalid"),
    ],
)
async def test_a_problem_that_cannot_be_opened_is_not_half_there(world: World, arguments: dict[str, Any], code: str):
    spoil(world.workspace)
    async with served(world) as client:
        assert f"[{code}]" in await refusal(client, "open_problem", **arguments)
        assert "None" not in await refusal(client, "problem_status", problem="p")
    assert world.lab.names() == []


async def test_paths_in_results_are_as_short_as_they_can_be_given_back(world: World):
    async with served(world) as client:
        opened = await call(client, "open_problem", reference="reference.py")
        assert opened["kernel_path"] == "kernel.py"
        await call(client, "verify_kernel", problem="p", kernel_path=opened["kernel_path"])
        world.edit(kernel(30))
        await call(client, "verify_kernel", problem="p")
        reverted = await call(client, "benchmark_kernel", problem="p")
    assert reverted["restored"] == "kernel.py"
    assert str(world.root) not in str(reverted)


async def test_no_step_leads_back_to_a_best_that_is_not_there(world: World):
    world.edit(kernel(fails="values"))
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        failed = await call(client, "verify_kernel", problem="p")
        status = await call(client, "problem_status", problem="p")
        world.file.unlink()
        gone = await call(client, "problem_status", problem="p")
        finished = await call(client, "finish_problem", problem="p")
        assert "[gate.unverified]" in await refusal(client, "revert_to_best", problem="p")
    for result in (failed, status, gone, finished):
        assert "revert_to_best" not in " ".join(result["next_steps"])


async def test_a_kernel_file_that_is_not_there_does_not_replace_the_one_that_is(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        text = await refusal(client, "open_problem", reference="reference.py", kernel_path="none.py")
        assert "[kernel.missing]" in text
        assert (await call(client, "problem_status", problem="p"))["kernel_path"] == "kernel.py"


@pytest.mark.parametrize("path", [".", "folder", "huge.py"])
async def test_an_open_problem_keeps_its_kernel_file_where_another_is_named_that_holds_none(world: World, path: str):
    spoil(world.workspace)
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        refused = await refusal(client, "open_problem", reference="reference.py", kernel_path=path)
        assert "[path.unreadable]" in refused
        assert (await call(client, "problem_status", problem="p"))["working_file"] == "best"


async def test_an_argument_of_megabytes_is_told_back_in_part(world: World):
    async with served(world) as client:
        refused = await refusal(client, "open_problem", reference="x" * 3_000_000)
    assert len(refused) < 10_000
