"""A task of a checkout as a problem: opened by name, verified by every gate, profiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_world import World
from served import call, refusal, served

from nki_anvil.lab import standard

pytestmark = pytest.mark.anyio


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_a_task_opens_by_its_name(world: World, checkout: Path):
    async with served(world) as client:
        await call(client, "open_problem", reference="nkibench:powers", name="powers")
    copied = world.lab.workspace / "kernels" / "powers" / "kernel.py"
    assert copied.read_text() == (checkout / "kernels" / "powers.py").read_text()


@pytest.mark.parametrize("name", ["nkibench:powers", "seed:silu"])
async def test_a_name_does_not_open_another_reference_that_stands_in_its_place(world: World, checkout: Path, name: str):
    assert checkout.is_relative_to(world.lab.workspace)
    folder = world.lab.workspace / "kernels" / name.partition(":")[2]
    folder.mkdir(parents=True)
    (folder / "reference.py").write_text("def forward(x):\n    return x\n")
    async with served(world) as client:
        said = await refusal(client, "open_problem", reference=name)
    assert f"is not that of {name}" in said
    assert "problem.changed" in said


@pytest.mark.parametrize("added", ["problem.toml", "helper.py"])
async def test_a_name_rests_on_no_file_that_was_put_beside_its_own(world: World, checkout: Path, added: str):
    folder = world.lab.workspace / "kernels" / "powers"
    folder.mkdir(parents=True)
    (folder / added).write_text("tolerance = 0.5\n" if added == "problem.toml" else "SCALE = 2\n")
    reference = checkout / "reference" / "powers.py"
    reference.write_text(
        reference.read_text().replace("\n", "\ntry:\n    import helper\nexcept ImportError: pass\n", 1)
    )
    world.lab.load = standard.load
    async with served(world) as client:
        said = await refusal(client, "open_problem", reference="nkibench:powers")
    assert f"{added} is not that of nkibench:powers" in said


async def test_a_task_that_is_not_there_is_refused_with_those_that_are(world: World, checkout: Path):
    assert checkout.is_relative_to(world.lab.workspace)
    async with served(world) as client:
        said = await refusal(client, "open_problem", reference="nkibench:sours")
    assert "powers, wrong, illegal" in said


async def test_port_beta1_names_the_lines_of_the_kernel_at_hand(world: World, checkout: Path):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        text = (checkout / "kernels" / "powers.py").read_text() + '"""\nlatency 5.0\n"""\n'
        for tool in ("verify_kernel", "benchmark_kernel"):
            await call(client, tool, problem="p", source=text)
        answer = await client.get_prompt("port-beta1", {"problem": "p"})
    text = answer.messages[0].content.text  # type: ignore[union-attr]
    assert "lines 3, 4, 5: `import neuronxcc.nki`" in text
    assert "line 17: `nl.store`" in text
    assert "the partitions; keep blocks" in text
