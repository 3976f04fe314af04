"""Products of matrices are brought to where shortcuts behind them fail, by the inputs that are their factors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import aiming
from nki_anvil.lab.honest_runs import HonestRuns
from nki_anvil.lab.reference_module import ReferenceModule

REFERENCE = """
import numpy as np

def get_inputs():
    return []

def forward(x, w, z, v):
    {body}
"""
NORM = "y = x @ w + z @ v; return y / np.sqrt(np.square(y).sum(-1, keepdims=True))"
GATED = "y = (x @ w) / (1 + np.exp(-(x @ w))) * (z @ v); return y / np.sqrt(np.square(y).sum(-1, keepdims=True))"
SOFT = "s = x @ z.T; p = np.exp(s - s.max(-1, keepdims=True)); return p / p.sum(-1, keepdims=True) + 0 * (w + v).sum()"
SHAPES = {"x": (24, 16), "w": (16, 20), "z": (24, 16), "v": (16, 20)}
DRAWN: dict[str, Any] = {
    name: np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    for seed, (name, shape) in enumerate(SHAPES.items())
}


def runs(tmp_path: Path, body: str) -> HonestRuns:
    (tmp_path / "reference.py").write_text(REFERENCE.format(body=body))
    return HonestRuns(ReferenceModule(tmp_path / "reference.py", {}), ("float32",), "float32", 0.0)


def families(tmp_path: Path, body: str) -> dict[str, list[str]]:
    known = runs(tmp_path, body)
    return aiming.families(known, DRAWN, aiming.factors_of(known, DRAWN))


def test_a_product_that_outputs_only_add_up_is_not_aimed_at(tmp_path: Path) -> None:
    assert families(tmp_path, "return 2 * (x @ w) - z @ v + 1") == {}


def test_what_a_product_meets_and_whether_both_factors_are_inputs_says_which_families_it_gets(tmp_path: Path) -> None:
    aims = ["aimed/met", "aimed/met/tall", "aimed/level"]
    assert families(tmp_path, NORM)["v"] == [*aims, *(f"moved/{turn}" for turn in range(len(aiming.DEPTHS)))]
    assert "aimed/lifted" in families(tmp_path, NORM)["w"]
    computed = families(tmp_path, "y = np.tanh(x) @ w; return y / np.square(y).sum() + 0 * z.sum()")
    assert computed == {"w": ["aimed/level"]}


def test_a_factor_is_solved_for_until_the_sum_comes_to_little_in_as_many_rows_as_it_can_keep(tmp_path: Path) -> None:
    bent = aiming.aimed(runs(tmp_path, NORM), DRAWN, "w", "met", np.random.default_rng(0))
    parts = DRAWN["x"] @ bent["w"], DRAWN["z"] @ DRAWN["v"]
    left = np.linalg.norm(parts[0] + parts[1], axis=-1) / np.linalg.norm(parts[1], axis=-1)
    assert (left < 0.3).sum() == int(aiming.SOLVED * 16)


@pytest.mark.parametrize("turn", range(len(aiming.DEPTHS)))
def test_a_product_is_moved_down_or_up_as_a_whole_and_float32_holds_it_in_any_order(tmp_path: Path, turn: int) -> None:
    bent = aiming.moved(runs(tmp_path, SOFT), DRAWN, "z", turn, np.random.default_rng(0))
    x, z = bent["x"].astype(np.float32), bent["z"].astype(np.float32)
    exact = x.astype(np.float64) @ z.T.astype(np.float64)
    side, depth = np.sign(aiming.DEPTHS[turn]), abs(aiming.DEPTHS[turn])
    assert (-side * exact).min() > depth
    for order in (np.arange(16), np.arange(16)[::-1]):
        total = np.zeros(exact.shape, np.float32)
        for k in order:
            total += np.outer(x[:, k], z[:, k])
        np.testing.assert_array_equal(total, exact)


def test_lifted_products_are_of_nearly_one_value_all_at_once(tmp_path: Path) -> None:
    bent = DRAWN | aiming.lifted(runs(tmp_path, GATED), DRAWN, np.random.default_rng(0))
    for one, other in (("x", "w"), ("z", "v")):
        product = bent[one] @ bent[other]
        assert product.mean() > 50 * product.std()


def test_what_meets_nothing_in_another_draw_is_not_bent(tmp_path: Path) -> None:
    bent = aiming.aimed(
        runs(tmp_path, "return np.tanh(x @ w) + 0 * (z @ v)"), DRAWN, "w", "met", np.random.default_rng(0)
    )
    assert bent == {}
