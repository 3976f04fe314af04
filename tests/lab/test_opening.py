from __future__ import annotations

import pytest
from lab_world import World, kernel
from served import call, refusal, served

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
