"""At every single write, rename and flush of a whole loop the disk is full, or the process dies: nothing is lost.

With NKI_ANVIL_ENDURANCE=1 at each of them, else at some.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from fuzz.failing_disk import Died, FailingDisk
from lab_world import World, kernel

from nki_anvil.backends.errors import AnvilError, PathUnwritable, ProblemUnknown
from nki_anvil.backends.job import Case
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.cases import Index, Pool, Pooled
from nki_anvil.lab.digest import digest
from nki_anvil.lab.rules import Rules

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

STRIDE = 1 if os.environ.get("NKI_ANVIL_ENDURANCE") else 13
START = kernel(10.0)


class Loop:
    """What an assistant and a user do, step by step, and which texts the user has put into the file."""

    def __init__(self, world: World) -> None:
        self.world, self.typed = world, START
        self.refused: list[str] = []

    def steps(self) -> list[Callable[[], Awaitable[object]]]:
        world = self.world
        texts = (kernel(8), kernel(11), kernel(7, fails="values"), kernel(7))
        attempts = [lambda text=text: self._attempt(text) for text in texts]
        candidates = [kernel(us) for us in (6.5, 6, 9)]
        return [world.open, *attempts, lambda: world.evaluate(candidates), world.revert, self._reflect, world.finish]

    async def play(self) -> None:
        for step in self.steps():
            try:
                await step()
            except AnvilError as error:
                self.refused.append(error.code)

    async def _attempt(self, text: str) -> None:
        self.typed = text
        self.world.edit(text)
        verified = await self.world.verify()
        if verified.passed:
            await self.world.benchmark()

    async def _reflect(self) -> None:
        await self.world.reflect(1)


async def sound(world: World, loop: Loop) -> None:
    """After a restart: state loads, best was verified, and the file holds what the user typed, or a best."""
    world.lab = world.again()
    try:
        await world.status()
    except ProblemUnknown:
        assert world.file.read_text() == loop.typed
        return
    problem = world.lab.problem("p")
    found = audit(world.lab, "p")
    assert found.clean, str(found)
    best = problem.best("modelled").read()
    held = digest(world.file.read_text())
    kept = {START, *(kernel(us) for us in (8, 7, 6.5, 6))}
    assert held == digest(loop.typed) or world.file.read_text() in kept
    if best is not None:
        attempt = problem.attempts.get(best.attempt)
        assert digest(attempt.text()) == best.digest
        assert any(verdict.passed for verdict in attempt.verdicts())


async def play_through(root: Path, patch: pytest.MonkeyPatch, at: int, *, dies: bool) -> tuple[int, list[str]]:
    """One loop on a disk of its own, then the same again on a sound one; operations done and calls refused."""
    world = World(root, rules=Rules(guard_refuses=False))
    loop = Loop(world)
    with FailingDisk(world.workspace, patch, at, dies) as disk:
        try:
            await loop.play()
        except* Died:
            pass  # also where several candidates were judged at once
    await sound(world, loop)
    world.edit(START)
    again = Loop(world)
    await again.play()
    await sound(world, again)
    best = world.lab.problem("p").best("modelled").read()
    assert best is not None
    assert best.latency_us == 6, (at, dies)
    return disk.done, loop.refused


@pytest.mark.parametrize("dies", [False, True], ids=["full", "killed"])
async def test_a_disk_that_fails_at_any_operation_costs_no_state_and_no_text(
    dies: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations, refused = await play_through(tmp_path / "sound", monkeypatch, 0, dies=False)
    assert operations > 100
    assert not refused
    told: set[str] = set()
    for at in range(1, operations + 1, STRIDE):
        told |= {*(await play_through(tmp_path / str(at), monkeypatch, at, dies=dies))[1]}
    assert dies or "path.unwritable" in told, "a full disk was never told"
    assert "internal" not in told


async def test_a_full_data_folder_is_told_and_leaves_a_pool_of_cases_that_is_whole_or_not_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.open()
    pool = Pool(world.lab.problem("p").specification, world.root / "data")
    first = Index(structure={"finite": True}, cases=(), skipped={})
    pooled = Pooled(case=Case(key="k", shapes="default", seed=1), inputs_digest="d", base=False)
    for write, known in ((lambda: pool._establish("default", first), 0), (lambda: pool._grow("default", [pooled]), 1)):
        with FailingDisk(pool.data, monkeypatch, 1), pytest.raises(PathUnwritable, match="Free some space"):
            write()
        write()
        found = await pool._index("default")
        assert found is not None
        assert (found.structure, len(found.cases)) == ({"finite": True}, 0), "a case without its files is left out"
        written = Index.model_validate_json((pool._folder("default") / "index.json").read_bytes())
        assert len(written.cases) == known
