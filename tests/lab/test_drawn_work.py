"""What hangs on a draw of integers is the median of several on the model, told as such, and the same in every call."""

from pathlib import Path

import pytest
from small_softmax import small_softmax

from nki_anvil.backends.job import InputSpec
from nki_anvil.lab import drawn_work
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.timing import Timed

pytestmark = pytest.mark.anyio
LENGTHS = InputSpec(name="lengths", shape=(4,), dtype="int32", domain="integer", low=0, high=32)


def timed(us: float) -> Timed:
    return Timed(us=us, samples_us=(), timer="model", floor_us=us / 2, environment={}, seconds=1.0)


async def counted(tmp_path: Path) -> Specification:
    """A softmax with lengths."""
    plain = await small_softmax(tmp_path)
    shapes = plain.shape_sets[plain.timed]
    more = shapes.model_copy(update={"inputs": (*shapes.inputs, LENGTHS)})
    return plain.model_copy(update={"shape_sets": {**plain.shape_sets, plain.timed: more}})


async def test_only_integers_take_more_than_one_draw(tmp_path: Path) -> None:
    assert len(drawn_work.seeds(await small_softmax(tmp_path / "plain"))) == 1
    problem = await counted(tmp_path)
    assert len(set(drawn_work.seeds(problem))) == drawn_work.DRAWS
    assert drawn_work.seeds(problem) == drawn_work.seeds(problem.model_copy(deep=True)), "in every call the same"


async def test_work_that_hangs_on_the_draw_is_its_median_and_the_reader_is_told(tmp_path: Path) -> None:
    asked: list[int] = []

    async def at(seed: int) -> Timed:
        asked.append(seed)
        return timed(float(len(asked)))

    found = await drawn_work.over_draws(problem := await counted(tmp_path), at)
    assert tuple(asked) == drawn_work.seeds(problem)
    assert (found.us, found.floor_us, found.seconds) == (5.0, 2.5, 9.0)
    assert drawn_work.told(found.samples_us) == ("integers steer the work: median of 9 draws, 1 to 9 us",)


async def test_work_that_is_the_same_in_three_draws_asks_for_no_more(tmp_path: Path) -> None:
    asked: list[int] = []

    async def at(seed: int) -> Timed:
        asked.append(seed)
        return timed(4.0)

    found = await drawn_work.over_draws(await counted(tmp_path), at)
    assert len(asked) == drawn_work.FIRST
    assert drawn_work.told(found.samples_us) == ()
