"""All floats together descend to where little of the outputs is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import gradients, trained
from nki_anvil.lab.bending import Bending
from nki_anvil.lab.honest_runs import HonestRuns
from nki_anvil.lab.lesser_references import LesserReferences
from nki_anvil.lab.reference_module import ReferenceModule

REFERENCE = """
import numpy as np

def get_inputs():
    return [np.random.standard_normal(shape).astype(np.float32) for shape in ((24, 6), (6, 10), (6, 10))]

def forward(x, w, t):
    {body}
"""
TEACHER = "p, q = np.tanh(x @ w), np.tanh(x @ t); return np.square(p - q).sum(-1, keepdims=True)"
SHARES = "e = np.exp(x @ w); return e / e.sum(-1, keepdims=True) + 0 * t.sum()"
STORES = "y = np.zeros((24, 10)); y[...] = x @ w - x @ t; return y"


def bending(folder: Path, body: str, **told: Any) -> tuple[Bending, dict[str, Any]]:
    (folder / "reference.py").write_text(REFERENCE.format(body=body))
    module = ReferenceModule(folder / "reference.py", {})
    drawn = dict(zip(module.names, module.get_inputs(3), strict=True))
    runs = HonestRuns(module, ("float32",), "float32", 0.0)
    arguments = [{"name": name, "dtype": "float32", "shape": list(drawn[name].shape), **told} for name in drawn]
    return Bending(module, arguments, runs, LesserReferences(module, np.inf), lambda _: drawn), drawn


def descended(folder: Path, body: str, turn: int, **told: Any) -> tuple[dict[str, Any], Any, Any]:
    """What a descent has found, what an own draw has for outputs, and what is left of these."""
    bends, drawn = bending(folder, body, **told)
    slope, floats = bends.slope(drawn), bends.floats(drawn)
    found = trained.searched(slope, floats, turn, np.random.default_rng(1))
    return found, slope.outputs(floats)[0], slope.outputs(found)[0]


@pytest.mark.parametrize("turn", range(trained.CASES * trained.WAYS))
def test_a_student_comes_to_be_nearly_its_teacher(tmp_path: Path, turn: int) -> None:
    found, before, after = descended(tmp_path, TEACHER, turn)
    assert np.linalg.norm(after) < trained.LITTLE * np.linalg.norm(before)
    sizes = [np.linalg.norm(item) for item in found.values()]
    own = [np.linalg.norm(item) for item in bending(tmp_path, TEACHER)[1].values()]
    most = trained.GROWN if turn % trained.WAYS > 1 else 1.0
    assert all(0.999 * was <= size <= 1.001 * most * was for size, was in zip(sizes, own, strict=True))


def test_what_cannot_come_to_little_has_no_way_as_a_whole(tmp_path: Path) -> None:
    bends, drawn = bending(tmp_path, SHARES)
    found = set(trained.turns(bends.slope(drawn), bends.floats(drawn)))
    assert not {turn % trained.WAYS for turn in found} & {0, 2}, "shares add up to one"


def test_a_reference_that_stores_into_arrays_has_no_gradient(tmp_path: Path) -> None:
    bends, drawn = bending(tmp_path, STORES)
    with pytest.raises(gradients.NoGradient):
        list(trained.turns(bends.slope(drawn), bends.floats(drawn)))


def test_inputs_stay_within_their_domains(tmp_path: Path) -> None:
    found, _, _ = descended(tmp_path, TEACHER, 0, domain="unit")
    assert all(item.min() >= 0 and item.max() <= 1 for item in found.values())


def test_constants_of_a_problem_do_not_descend(tmp_path: Path) -> None:
    bends, drawn = bending(tmp_path, TEACHER, domain="constant")
    assert bends.floats(drawn) == {}
