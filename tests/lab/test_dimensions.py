"""Dimensions of shape sets reach all that a reference makes of them, or opening says what they do not reach."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nki_anvil.backends.errors import ProblemInvalid
from nki_anvil.lab.loading import load
from nki_anvil.lab.reference_module import ReferenceModule

pytestmark = pytest.mark.anyio

SIZED = """
import numpy as np

{bound}

def get_inputs():
    return [np.random.standard_normal((M, N)).astype(np.float32), N**-0.5]

def forward(x, scale):
    return np.tanh(x * scale) + N
"""
SHORT = (
    'verify = ["default", "short"]\n[dims]\nM = 16\nN = 64\n[shapes.short]\nN = 32\n[inputs.x]\nshape = ["M", "N"]\n'
)


@pytest.mark.parametrize(
    "bound", ["M, N = 16, 64", "M: int = 16\nN: int = 64", "M = 16\nN = O = 64", "M = 16\n(N, O) = (64, 2)"]
)
async def test_however_a_dimension_is_assigned_other_shapes_have_their_own(tmp_path: Path, bound: str) -> None:
    (tmp_path / "reference.py").write_text(SIZED.format(bound=bound))
    (tmp_path / "problem.toml").write_text(SHORT)
    found = await load(tmp_path)
    x, scale = found.shape_sets["short"].inputs
    assert (x.shape, scale.value) == ((16, 32), 32**-0.5), "what get_inputs makes of a dimension follows as well"
    module = ReferenceModule(tmp_path / "reference.py", {"M": 16, "N": 32})
    assert module.plain([np.zeros((16, 32), np.float32), 1.0])[0].max() == 32


@pytest.mark.parametrize("bound", ["M, N = 16, 64\nN += 0\nif True:\n    N = 64", "from sizes import M, N"])
async def test_a_dimension_that_shapes_cannot_set_is_refused(tmp_path: Path, bound: str) -> None:
    (tmp_path / "sizes.py").write_text("M, N = 16, 64\n")
    (tmp_path / "reference.py").write_text(SIZED.format(bound=bound))
    (tmp_path / "problem.toml").write_text(SHORT)
    with pytest.raises(ProblemInvalid, match="has N = 64 where problem\\.toml says 32"):
        await load(tmp_path)


async def test_an_update_in_place_at_some_shapes_alone_is_refused(tmp_path: Path) -> None:
    toml = 'verify = ["default", "one"]\n[dims]\nN = 8\n[shapes.one]\nN = 1\n'
    toml += '[inputs.x]\nshape = [4, "N"]\nmutable = true\n'
    (tmp_path / "problem.toml").write_text(toml)
    drawn = "np.random.standard_normal((4, N)).astype(np.float32)"
    source = f"import numpy as np\nN = 8\ndef get_inputs():\n    return [{drawn}]\n"
    for condition, refused in (("x.shape[1] == 1", True), ("True", False)):
        forward = f"def forward(x):\n    if {condition}:\n        x += 1\n        return x\n    return x + 1\n"
        (tmp_path / "reference.py").write_text(source + forward)
        if refused:
            with pytest.raises(ProblemInvalid, match="in another way at the shape set one"):
                await load(tmp_path)
        else:
            assert (await load(tmp_path)).in_place == {"x": 0}
