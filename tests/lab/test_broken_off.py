"""A call on many candidates that was killed, cancelled or failed half-way goes on where it was."""

from __future__ import annotations

import shutil

import anyio
import pytest
from lab_world import WordedBackend, World, kernel

from nki_anvil.backends.errors import AttemptUnknown, BackendUnreachable, ReflexionRequired
from nki_anvil.lab.admission import judged
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.results import Candidate
from nki_anvil.lab.verifying import verify_kernel

pytestmark = pytest.mark.anyio

KERNELS = [kernel(us) for us in (9, 8, 7, 12, 30, 9.5)] + [kernel(3, fails="values")]


def candidates() -> list[Candidate]:
    return [Candidate(kernel=text, plan=f"plan {number % 3}") for number, text in enumerate(KERNELS)]


async def until(world: World, word: str, count: int) -> None:
    """Evaluate, and cancel the call when it has reported so often."""
    said: list[str] = []
    with anyio.CancelScope() as scope:

        async def report(message: str) -> None:
            said.append(message)
            if sum(word in one for one in said) == count:
                scope.cancel()
                await anyio.lowlevel.checkpoint()

        await world.evaluate(candidates(), report=report)
    assert scope.cancelled_caught


@pytest.mark.parametrize(("word", "count"), [("verified", 1), ("verified", 5), ("measured", 2), ("measured", 6)])
async def test_a_cancelled_call_ends_as_if_it_had_never_been_cancelled(world: World, word: str, count: int) -> None:
    other = World(world.root / "other")
    await other.open()
    whole = await other.evaluate(candidates())

    await world.open()
    await until(world, word, count)
    world.lab = world.again()
    verified = len(world.verifications)
    resumed = await world.evaluate(candidates())
    assert len(world.verifications) - verified < len(KERNELS) or (word, count) == ("verified", 1)
    assert len(set(world.verifications)) == len(KERNELS) + 1
    for field in ("candidates", "beam", "experience_candidates", "best_digest", "guard", "tried"):
        assert getattr(resumed, field) == getattr(whole, field), field
    assert (await world.status()).best == (await other.status()).best


async def test_what_a_call_kept_before_it_was_killed_is_progress_of_the_call_that_takes_it_up(world: World) -> None:
    await world.open()
    await world.evaluate([kernel(11)])
    assert (await world.status()).guard.failures == 1
    await until(world, "profiling the new best", 1)
    assert (await world.status()).best.latency_us == 7, "killed after the keep, before the end"
    world.lab = world.again()
    resumed = await world.evaluate(candidates())
    assert resumed.guard.failures == 0
    assert [pair.plan for pair in resumed.experience_candidates], "its pairs are not lost"
    again = await world.evaluate(candidates())
    assert again.counts["repeated"] == len(KERNELS)
    assert again.experience_candidates == (), "after the end it is a repeat"


async def test_a_machines_failure_is_raised_as_itself_and_the_same_call_goes_on(world: World) -> None:
    await world.open()
    world.backend.down = True
    with pytest.raises(BackendUnreachable):
        await world.evaluate(candidates())
    world.backend.down = False
    assert (await world.evaluate(candidates())).counts["passed"] == 6


async def test_progress_is_told_of_every_candidate(world: World) -> None:
    await world.open()
    said: list[str] = []

    async def report(message: str) -> None:
        said.append(message)

    await world.evaluate(candidates(), report=report)
    for number in range(1, len(KERNELS) + 1):
        assert any(one.startswith(f"verified {number} of {len(KERNELS)}: attempt ") for one in said), said
    assert any("failed at values" in one for one in said)
    assert sum(one.startswith("measured ") for one in said) == 6


def test_only_the_same_kernels_on_the_same_origin_take_up_a_call() -> None:
    def event(name: str, **facts: object) -> dict[str, object]:
        return {"event": name, "origin": "modelled", **facts}

    began, ended = event("evaluating", attempts=[1, 2]), event("evaluated", attempts=[1, 2])
    verified = event("verified", attempt=1)
    assert judged([began, verified], "modelled", [1, 2]) == {1}
    assert judged([began, verified, began], "modelled", [1, 2]) == {1}, "killed twice"
    assert judged([verified, began], "modelled", [1, 2]) == set(), "judged before the call"
    assert judged([began, verified], "modelled", [1, 2, 3]) == set()
    assert judged([began, verified], "device", [1, 2]) == set()
    assert judged([began, verified, ended], "modelled", [1, 2]) == set()


async def broken_off_on(world: World, texts: list[str], *, after: int = 1) -> None:
    """Evaluate, and cancel the call when it has said of so many that they were verified."""
    with anyio.CancelScope() as scope:

        async def report(message: str) -> None:
            if message.startswith(f"verified {after} of"):
                scope.cancel()
                await anyio.lowlevel.checkpoint()

        await world.evaluate(texts, report=report)
    assert scope.cancelled_caught


async def test_what_a_cancelled_call_found_wrong_counts_when_another_tool_is_called(world: World) -> None:
    await world.open()
    wrong = [kernel(3, fails="values", note=str(number)) for number in range(4)]
    for text in wrong[:3]:
        await broken_off_on(world, [text])
    with pytest.raises(ReflexionRequired):
        await world.verify(wrong[0])
    assert (await world.status()).guard.failures == 3
    for refused in (world.verify, world.benchmark, lambda: world.evaluate([wrong[3]])):
        with pytest.raises(ReflexionRequired):
            await refused()
    assert (await world.status()).guard.failures == 3, "each counted once"
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


@pytest.mark.parametrize("what", ["the diary", "the state", "nothing, and another name is asked"])
async def test_what_a_broken_off_call_found_wrong_counts_whatever_is_removed(world: World, what: str) -> None:
    await world.open()
    for number in range(3):
        await broken_off_on(world, [kernel(3, fails="values", note=str(number))])
        if what == "the diary":
            (world.state / "experiments.jsonl").unlink()
            shutil.rmtree(world.state / "steps", ignore_errors=True)
    if what == "the state":
        shutil.rmtree(world.state)
    await world.open(**({"name": "q"} if what.startswith("nothing") else {}))
    with pytest.raises(ReflexionRequired):
        await verify_kernel(world.again(), "q" if what.startswith("nothing") else "p", source=kernel(4))


async def test_a_call_that_is_cancelled_over_many_wrong_kernels_counts_as_one_step(world: World) -> None:
    await world.open()
    wrong = [kernel(3, fails="values", note=str(number)) for number in range(3)]
    await broken_off_on(world, wrong, after=3)
    assert [(await world.verify(text)).repeated for text in wrong] == [True, True, True]
    assert (await world.status()).guard.failures == 1
    await world.evaluate(wrong)
    assert (await world.status()).guard.failures == 1, "it has counted"


async def test_a_cancelled_call_that_is_always_made_anew_with_one_more_counts_each_time(world: World) -> None:
    await world.open()
    wrong = [kernel(3, fails="values", note=str(number)) for number in range(4)]
    for count in range(1, 4):
        await broken_off_on(world, wrong[:count], after=count)
    with pytest.raises(ReflexionRequired):
        await world.evaluate(wrong)


async def test_a_cancelled_call_that_found_nothing_wrong_counts_nothing(world: World) -> None:
    await world.open()
    await broken_off_on(world, [kernel(9), kernel(8)])
    await world.verify(kernel(7))
    assert (await world.status()).guard.failures == 0


async def test_what_a_cancelled_call_kept_is_progress_whatever_is_called_next(world: World) -> None:
    await world.open()
    await world.verify(kernel(3, fails="values", note="before"))
    await until(world, "profiling the new best", 1)
    assert (await world.status()).guard.failures == 1
    await world.verify(kernel(6))
    assert (await world.status()).guard.failures == 0


async def test_a_reflexion_is_about_what_a_cancelled_call_found_wrong_before_it(world: World) -> None:
    await world.open()
    await broken_off_on(world, [kernel(3, fails="values")])
    assert (await world.reflect(1)).guard.failures == 0
    await world.verify(kernel(9))
    assert (await world.status()).guard.failures == 0


async def test_a_call_that_goes_on_is_not_counted_by_another_clients_call(world: World) -> None:
    await world.open()
    seen: list[float] = []

    async def report(message: str) -> None:
        if message.startswith("verified"):
            await world.verify(kernel(9.5), lab=world.again())
            seen.append((await world.status()).guard.failures)

    ended = await world.evaluate([kernel(3, fails="values"), kernel(3.5, fails="values")], report=report)
    assert seen == [0, 0]
    assert ended.guard.failures == 1


async def test_what_a_call_on_another_origin_found_wrong_counts_there_alone(world: World) -> None:
    await world.open()
    await broken_off_on(world, [kernel(3, fails="values")])
    simulator, world.backend = world.backend, WordedBackend(name="local", origin="device")
    world.lab = world.again()
    await world.open(backend="local")
    assert (await world.verify(kernel(9))).guard.failures == 0
    world.backend = simulator
    world.lab = world.again()
    await world.open(backend="simulator")
    assert (await world.verify(kernel(8))).guard.failures == 1


async def test_a_failure_stands_though_its_attempt_was_moved_away_while_it_was_judged(world: World) -> None:
    await world.open()
    attempts, aside = world.state / "attempts", world.root / "aside"

    def move() -> None:
        if not aside.exists():
            max(path for path in attempts.iterdir() if path.is_dir()).rename(aside)

    world.meanwhile, wrong = move, kernel(9) + "fails values\n"
    with pytest.raises(AttemptUnknown):
        await world.verify(wrong)
    aside.rename(attempts / "0001")
    judged = len(world.verifications)
    assert (await world.status()).guard.failures == 1
    assert not (await world.verify(wrong)).passed
    assert len(world.verifications) == judged, "no other cases"
