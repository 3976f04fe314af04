"""Inputs of which a result comes to nothing only as several of them are related in all of their places."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy_backend import KERNEL, NumpyBackend

from nki_anvil.lab import families, vanishing
from nki_anvil.lab.arithmetic import Array
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.loading import load
from nki_anvil.lab.meeting import Event
from nki_anvil.lab.planned_case import Plan
from nki_anvil.lab.searched_reference import Inputs
from nki_anvil.lab.units import Run, units_of
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.verification import verify

VANISHING = [f"vanishing/{turn}" for turn in range(vanishing.CASES)]
C, S = np.cos(0.35), np.sin(0.35)
TURNED = [[C, -S, 0, 0], [S, C, 0, 0], [0, 0, C, S], [0, 0, -S, C]]


def apart(a: Array, b: Array) -> Array:
    """The square of the sine between a and b, turned."""
    b = b @ np.array(TURNED, b.dtype).T
    parts = sum(np.square(a[:, n] * b[:, m] - a[:, m] * b[:, n]) for n in range(4) for m in range(n))
    return (parts / (np.square(a).sum(axis=1) * np.square(b).sum(axis=1)))[:, None]


def by_the_cosine(a: Array, b: Array) -> Array:
    b = b @ np.array(TURNED, b.dtype).T
    cosine = (a * b).sum(axis=1) / np.sqrt(np.square(a).sum(axis=1) * np.square(b).sum(axis=1))
    return np.maximum(1 - cosine * cosine, 0)[:, None]


def quaternions(seed: int, count: int = 128) -> Inputs:
    draws = np.random.default_rng(seed).standard_normal((2, count, 4))
    return {"a": draws[0].astype(np.float32), "b": draws[1].astype(np.float32)}


def asked(forward: Callable[..., Array], sums: Callable[..., list[Event]] = lambda **given: []) -> Run:
    def run(given: Inputs) -> tuple[list[Array], list[Event]]:
        with np.errstate(all="ignore"):
            wide = {name: item.astype(np.float64) for name, item in given.items()}
            return [forward(**wide)], sums(**wide)

    return run


def test_two_inputs_come_to_be_related_in_all_places_of_a_row() -> None:
    run, drawn, other = asked(apart), quaternions(0), quaternions(1)
    assert vanishing.comes_to_nothing(run, drawn, other)
    found = vanishing.searched(run, drawn, other, 1, np.random.default_rng(2))
    left = apart(**found) / apart(**drawn)
    assert left.max() < 0.9
    assert left.min() < 1e-7
    lengths = [np.linalg.norm(np.hstack([given["a"], given["b"]]), axis=1) for given in (drawn, found)]
    assert (lengths[1] > 0.3 * lengths[0]).all()


def test_an_element_of_all_inputs_is_a_unit_where_outputs_hang_on_no_more() -> None:
    def squares(a: Array, b: Array) -> Array:
        return np.square(a * a - 2 * b)

    drawn, other = ({name: item.reshape(32, 16) for name, item in quaternions(seed).items()} for seed in (0, 1))
    units = units_of(asked(squares), drawn, other)
    assert units is not None
    assert units.shape == (32, 16)
    alike, single = (
        vanishing.searched(asked(squares), drawn, other, turn, np.random.default_rng(2)) for turn in (0, 1)
    )
    assert squares(**single).min() < 1e-9
    assert squares(**alike).max(axis=1).min() < 1e-3  # a whole row of them


def test_what_lies_along_the_last_axis_is_a_unit_as_well() -> None:
    def discriminant(p: Array) -> Array:
        return p[1] ** 2 - 4 * p[0] * p[2]

    drawn, other = ({"p": quaternions(seed)["a"].T[:3]} for seed in (0, 1))
    units = units_of(asked(discriminant), drawn, other)
    assert units is not None
    assert (units.shape, units.leading) == ((128,), False)
    found = vanishing.searched(asked(discriminant), drawn, other, 1, np.random.default_rng(2))
    assert np.abs(discriminant(**found)).min() < 1e-3


@pytest.mark.parametrize("turn", [0, 1])
def test_all_inputs_together_are_a_unit_where_an_output_hangs_on_all(turn: int) -> None:
    def total(a: Array, b: Array) -> Array:
        return (a - 1.3 * b).sum(keepdims=True)

    drawn, other = quaternions(0), quaternions(1)
    units = units_of(asked(total), drawn, other)
    assert units is not None
    assert units.count == 1
    found = vanishing.searched(asked(total), drawn, other, turn, np.random.default_rng(2))
    assert np.abs(total(**found)).max() < 0.6 * np.abs(total(**drawn)).max()


def test_a_sum_on_the_way_comes_to_nothing_too() -> None:
    def terms(a: Array, b: Array) -> list[Event]:
        return [Event("difference", (a * b).sum(axis=1), np.square(a).sum(axis=1))]

    def ratio(a: Array, b: Array) -> Array:
        return 1 / ((a * b).sum(axis=1) - np.square(a).sum(axis=1))

    run = asked(ratio, terms)
    found = vanishing.searched(run, quaternions(0), quaternions(1), 1, np.random.default_rng(2))
    assert np.abs(ratio(**found)).max() > 1e3


def test_numbers_come_to_be_beside_what_they_are_compared_with() -> None:
    """On either side, so near that a number with few digits tells them apart otherwise."""

    def gap(a: Array, b: Array) -> Array:
        return (a - b).sum(axis=1, keepdims=True) + 2.3025851

    def compared(a: Array, b: Array) -> list[Event]:
        return [Event("comparison", gap(a, b) - 2.3025851, np.full((len(a), 1), -2.3025851))]

    run = asked(lambda a, b: (gap(a, b) >= 0).astype(np.int32), compared)
    found = vanishing.searched(run, quaternions(0), quaternions(1), 1, np.random.default_rng(2))
    near = np.abs(gap(**found)) < 1.5e-5
    assert near.sum() > 8
    assert {*np.sign(gap(**found)[near]).tolist()} == {-1.0, 1.0}


@pytest.mark.parametrize(
    "forward",
    [
        lambda a, b: a - a,  # hangs on nothing
        lambda a, b: 1 + np.square(a) + np.square(b),
        lambda a, b: np.full(a.shape, np.nan),
        lambda a, b: (a > b).astype(np.int32),
    ],
)
def test_what_never_comes_to_nothing_has_no_such_family(forward: Callable[..., Array]) -> None:
    assert not vanishing.comes_to_nothing(asked(forward), quaternions(0), quaternions(1))


def test_units_that_find_nothing_stay_as_they_were() -> None:
    drawn = quaternions(0)
    found = vanishing.searched(asked(lambda a, b: 1 + a * a), drawn, quaternions(1), 0, np.random.default_rng(2))
    assert np.array_equal(found["a"], drawn["a"])


REFERENCE = """
import numpy as np

TURNED = np.array({turned}, np.float32)


def get_inputs():
    return [np.random.randn(128, 4).astype(np.float32), np.random.randn(128, 4).astype(np.float32)]


def forward(a, b):
    b = b @ TURNED.T
    pairs = [(n, m) for n in range(4) for m in range(n)]
    parts = np.stack([a[:, n] * b[:, m] - a[:, m] * b[:, n] for n, m in pairs], axis=1)
    lengths = (a * a).sum(axis=1, keepdims=True) * (b * b).sum(axis=1, keepdims=True)
    return (parts * parts).sum(axis=1, keepdims=True) / lengths
"""
PROBLEM = """
name = "apart"
entry = "kernel"
reference = "reference.py"
kernel = "kernel.py"
chip = "trn2"
precision = "float32"
verify = ["default"]
timed = "default"

[inputs.a]
shape = [128, 4]
dtype = "float32"
domain = "real"

[inputs.b]
shape = [128, 4]
dtype = "float32"
domain = "real"

[work]
bytes = "4608"
matmul_flops = "0"
vector_flops = "8192"
"""


async def judged(kernel: Any, folder: Path) -> Verdict:
    """On own draws, and on those that come to nothing."""
    (folder / "reference.py").write_text(REFERENCE.format(turned=TURNED))
    (folder / "problem.toml").write_text(PROBLEM)
    (folder / "kernel.py").write_text(KERNEL)
    specification = await load(folder)
    whole = families.plans

    def own(*given: Any, **named: Any) -> list[Plan]:
        return [plan for plan in whole(*given, **named) if plan.family in ("own", *VANISHING) and plan.probe is None]

    with mock.patch.object(families, "plans", own):
        found = await verify(
            specification, KERNEL, "0" * 64, backend=NumpyBackend(kernel), pool=Pool(specification, folder / "data"),
            random=np.random.default_rng(5), again=False,
        )  # fmt: skip
    return found.verdict


@pytest.mark.anyio
async def test_an_angle_by_its_cosine_is_wrong_where_there_is_hardly_any(tmp_path: Path) -> None:
    verdict = await judged(by_the_cosine, tmp_path)
    assert verdict.failed_gate == "values"
    assert verdict.where
    assert verdict.where.family.startswith("vanishing")


@pytest.mark.anyio
async def test_an_angle_by_its_sine_is_right(tmp_path: Path) -> None:
    verdict = await judged(apart, tmp_path)
    assert verdict.passed
    assert "vanishing" in verdict.families
