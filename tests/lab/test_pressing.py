"""Rows are sought that are hard on one kernel: what errs a little everywhere is led to where it breaks."""

import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy_backend import KERNEL, NumpyBackend

from nki_anvil.lab import families, pressing
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.loading import load
from nki_anvil.lab.planned_case import Plan
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.verification import verify

pytestmark = pytest.mark.anyio
SEEDS = Path(__file__).parents[2] / "seeds" / "problems"
F = np.float32


def layernorm(x: Any, gain: Any, bias: Any, eps: float) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + F(eps)) * gain + bias


def in_one_pass(x: Any, gain: Any, bias: Any, eps: float) -> Any:
    mean = x.mean(axis=-1, keepdims=True)
    variance = np.square(x).mean(axis=-1, keepdims=True) - np.square(mean)
    return (x - mean) / np.sqrt(np.maximum(variance, F(0)) + F(eps)) * gain + bias


def with_a_little_of_the_mean(x: Any, gain: Any, bias: Any, eps: float) -> Any:
    centred, mean = x - x.mean(axis=-1, keepdims=True), x.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True) + F(1e-6) * np.square(mean)
    return centred / np.sqrt(variance + F(eps)) * gain + bias


async def judged(kernel: Any, tmp_path: Path, again: bool = True) -> Verdict:
    """On own draws alone, and on what is sought from these."""
    folder = shutil.copytree(SEEDS / "layernorm", tmp_path / "layernorm")
    text = (folder / "problem.toml").read_text().replace("M = 320\nN = 768", "M = 96\nN = 64")
    (folder / "problem.toml").write_text(text)
    specification = await load(folder)
    whole = families.plans

    def own(*given: Any, **named: Any) -> list[Plan]:
        return [plan for plan in whole(*given, **named) if plan.family == "own" and plan.probe is None]

    with mock.patch.object(families, "plans", own), mock.patch.object(pressing, "SECONDS", 1e6):
        found = await verify(
            specification, KERNEL, "0" * 64, backend=NumpyBackend(kernel), pool=Pool(specification, tmp_path / "data"),
            random=np.random.default_rng(5), again=again,
        )  # fmt: skip
    return found.verdict


@pytest.mark.parametrize("kernel", [in_one_pass, with_a_little_of_the_mean])
async def test_rows_are_found_in_which_a_kernel_is_wrong_that_is_right_on_own_draws(
    kernel: Any, tmp_path: Path
) -> None:
    verdict = await judged(kernel, tmp_path)
    assert verdict.failed_gate == "values"
    assert verdict.where
    assert verdict.where.family == "pressed"


async def test_only_what_is_claimed_is_sought_for(tmp_path: Path) -> None:
    assert (await judged(in_one_pass, tmp_path, again=False)).passed


@pytest.mark.slow
async def test_an_honest_kernel_is_led_nowhere(tmp_path: Path) -> None:
    verdict = await judged(layernorm, tmp_path)
    assert verdict.passed
    assert "pressed" not in verdict.families
