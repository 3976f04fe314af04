from __future__ import annotations

from pathlib import Path

import pytest
from lab_world import World

from nki_anvil.lab import yields
from nki_anvil.lab.specification import Specification, Work

pytestmark = pytest.mark.anyio


async def given(world: World, **changes: object) -> Specification:
    specification = await world.load(Path("r.py"), name=None, kernel=None, tolerance=None, chip=None)
    return specification.model_copy(update=changes)


def work(**amounts: float) -> dict[str, Work]:
    return {"default": Work(**amounts)}


@pytest.mark.parametrize(
    ("amounts", "precision", "peak_us", "bound_us", "bound_by"),
    [
        ({"bytes": 640e6}, "float32", 1000, 640e6 / 368e3, "memory"),
        ({"bytes": 1, "matmul_flops": 19.75e9}, "float32", 1000, 19.75e9 / 20e6, "compute"),
        ({"bytes": 1, "matmul_flops": 78.6e9}, "bfloat16", 1000, 78.6e9 / 78.64e6, "compute"),
        ({"bytes": 1, "matmul_flops": 78.6e9}, "tfloat32", 1000, 78.6e9 / 78.64e6, "compute"),
        ({"bytes": 368e3, "vector_flops": 550e6}, "float32", 1000, 1, "memory"),
    ],
)
async def test_peak_is_accelopts_and_bound_is_physical(
    world: World, amounts: dict[str, float], precision: str, peak_us: float, bound_us: float, bound_by: str
) -> None:
    specification = await given(world, work=work(**amounts), precision=precision)
    assert yields.peak(specification).time_us == pytest.approx(peak_us)
    assert yields.bound(specification).time_us == pytest.approx(bound_us)
    assert yields.bound(specification).bound_by == bound_by
    assert yields.percent_of_peak(specification, 2 * peak_us) == pytest.approx(50)


async def test_two_logical_cores_halve_both(world: World) -> None:
    one, two = await given(world, work=work(bytes=1e6)), await given(world, work=work(bytes=1e6), lnc=2)
    assert yields.peak(two).time_us == pytest.approx((yields.peak(one).time_us or 0) / 2)
    assert yields.bound(two).time_us == pytest.approx((yields.bound(one).time_us or 0) / 2)


async def test_unknown_work_gives_no_percentages(world: World) -> None:
    specification = await given(world, work={})
    assert yields.percent_of_peak(specification, 10) is None
    assert yields.percent_of_bound(specification, 10) is None
    assert yields.bound(specification).bound_by == "unknown"
