"""Watching a kernel file: a look at every save, no verdict stored, and nine gates when asked."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from lab_world import World, kernel

from nki_anvil.backends.errors import BackendUnreachable
from nki_anvil.lab.looking import look
from nki_anvil.lab.verdict import Verdict
from nki_anvil.server import watching
from nki_anvil.server.console import Console, counted
from nki_anvil.tools.desk import opened

pytestmark = pytest.mark.anyio


@pytest.fixture
async def watched(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """An open problem whose quick look is the laboratory's fake of a verification."""

    async def quick(*given: Any, **named: Any) -> tuple[Verdict, float | None]:
        verdict = await world.lab.verify(*given, **named, unseen=False)
        return verdict.model_copy(update={"full": False}), 4.0

    monkeypatch.setattr(world.lab, "look", quick)
    await world.open()
    return world


async def test_a_look_stores_no_attempt_and_no_verdict(watched: World):
    watched.edit(kernel(5))
    seen = watching.Glance.of(await look(watched.lab, "p"))
    assert (seen.right_so_far, seen.verified) == (True, False)
    assert str(seen).startswith("right so far, two cases; Enter verifies; 4 us modelled, 2.500x of best")
    assert len(watched.lab.problem("p").attempts.all()) == 1, "the baseline"


async def test_a_wrong_kernel_is_named_with_its_gate_and_detail(watched: World):
    watched.edit(kernel(5, fails="values"))
    seen = watching.Glance.of(await look(watched.lab, "p"))
    assert not seen.right_so_far
    assert str(seen).startswith("wrong at gate 'values'")


async def test_a_kernel_that_was_verified_before_is_shown_as_such(watched: World):
    assert watching.Glance.of(await look(watched.lab, "p")).verified


async def test_a_save_is_noticed_also_when_the_editor_puts_another_file_in_its_place(tmp_path: Path):
    path = tmp_path / "kernel.py"
    path.write_text("one")
    with anyio.fail_after(20):
        seen = watching.saves(path)
        await anext(seen)
        path.write_text("two!")
        await anext(seen)
        (tmp_path / "new").write_text("2!")
        path.unlink()
        (tmp_path / "new").rename(path)
        await anext(seen)
        await seen.aclose()


async def test_every_save_gets_a_look_and_enter_gets_all_gates(
    watched: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    reading, typing = os.pipe()
    monkeypatch.setattr("sys.stdin", os.fdopen(reading))
    said: list[str] = []
    steps: dict[str, Callable[[], Any]] = {
        "right so far": lambda: watched.edit(kernel(6, fails="values")),
        "wrong at gate": lambda: watched.edit(kernel(5)),
        "right so far, two": lambda: os.write(typing, b"\n"),
    }

    class Listening(Console):
        def tell(self, value: Any, *, good: bool | None = None) -> None:
            said.append(str(value))
            next((step for words, step in steps.items() if str(value).startswith(words)), lambda: None)()
            if str(value).startswith("right so far"):
                steps.pop("right so far", None)

        def show(self, result: Any, problem: str | None = None) -> None:
            said.append(result.summary)
            tasks.cancel_scope.cancel()

    watched.edit(kernel(7))
    async with opened(lambda: watched.lab, lambda: None) as desk:  # type: ignore[arg-type,return-value]
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                await watching.watch(desk, Listening(), "p", None, once=False, full=False)
    os.close(typing)
    assert [line.split(",")[0].split(":")[0] for line in said[:3]] == [
        "right so far",
        "wrong at gate 'values'",
        "right so far",
    ]
    assert "is right" in said[3]
    assert len(watched.lab.problem("p").attempts.all()) == 2, "only what Enter verified is an attempt"


async def test_what_goes_wrong_at_one_save_is_said_and_the_next_save_is_looked_at(
    watched: World, monkeypatch: pytest.MonkeyPatch
):
    said: list[str] = []
    calm = watched.lab.look

    async def silent_machine(*_: Any, **__: Any) -> Any:
        raise BackendUnreachable("The host does not answer.", "Call again.")

    class Listening(Console):
        @staticmethod
        def complain(text: str) -> None:
            said.append(text)
            monkeypatch.setattr(watched.lab, "look", calm)
            watched.edit(kernel(6))

        def tell(self, value: Any, *, good: bool | None = None) -> None:
            said.append(str(value))
            tasks.cancel_scope.cancel()

    monkeypatch.setattr("sys.stdin", Path(os.devnull).open())  # noqa: ASYNC230, SIM115
    monkeypatch.setattr(watched.lab, "look", silent_machine)
    async with opened(lambda: watched.lab, lambda: None) as desk:  # type: ignore[arg-type,return-value]
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                await watching.watch(desk, Listening(), "p", None, once=False, full=False)
    assert "[backend.unreachable]" in said[0]
    assert said[1].startswith("right so far")


def test_a_message_that_counts_moves_the_bar():
    assert counted("seed 3 of 5") == (2, 5)
    assert counted("round 10 of 9") == (9, 9)
    assert counted("reading the reference") == (0, None)
