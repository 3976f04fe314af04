"""Which arguments a reference updates in place is seen on several draws, and by whose memory is returned."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab.reference_module import ReferenceModule
from nki_anvil.lab.updates import updates

SOURCE = """
import numpy as np

def get_inputs():
    return [np.random.uniform(1, 8, (8, 4)).astype(np.float32), np.random.standard_normal((8, 4)).astype(np.float32)]

def forward(x, g):
"""


def found(folder: Path, *lines: str) -> dict[str, Any]:
    (folder / "reference.py").write_text(SOURCE + "".join(f"    {line}\n" for line in lines))
    module = ReferenceModule(folder / "reference.py", {})
    return updates(module, [module.get_inputs(seed) for seed in (1, 2, 3)], {"x": 0})


@pytest.mark.parametrize(
    "write", ["x[g > 100] *= 0.5", "x[np.abs(g) > 1e30] = 0", "if g.max() > 100: x *= 2", "np.add.at(x, g > 100, 1)"]
)
def test_a_rare_write_counts_though_no_own_draw_has_it(tmp_path: Path, write: str) -> None:
    assert found(tmp_path, write, "return g * 2, x") == {"in_place": {"x": 1}, "updated": []}
    assert found(tmp_path, "y = x * g", write, "return y") == {"in_place": {}, "updated": ["x"]}


def test_what_is_written_where_some_of_several_draws_lead_counts(tmp_path: Path) -> None:
    assert found(tmp_path, "if g[0, 0] > 0: x += 1", "return x, g")["in_place"] == {"x": 0}


def test_what_is_returned_itself_is_the_argument_though_no_draw_leads_to_where_it_is_written(tmp_path: Path) -> None:
    assert found(tmp_path, "if g.min() > 1e30: x += 1", "return x * g, x") == {"in_place": {"x": 1}, "updated": []}
    assert found(tmp_path, "x = x + g", "return x") == {"in_place": {}, "updated": []}


def test_of_equal_outputs_the_one_in_the_arguments_memory_is_meant(tmp_path: Path) -> None:
    assert found(tmp_path, "x += g", "return np.clip(x, -1e9, 1e9), x")["in_place"] == {"x": 1}
    assert found(tmp_path, "x += g", "return x.copy(), x")["in_place"] == {"x": 1}


def test_a_copy_stands_for_the_argument_if_it_equals_it_wherever_it_changed(tmp_path: Path) -> None:
    assert found(tmp_path, "x += g", "return np.clip(x, -100, 100), x.copy()")["in_place"] == {"x": 1}
    assert found(tmp_path, "x += g", "return np.clip(x, -100, 100)") == {"in_place": {}, "updated": ["x"]}


def test_a_view_of_a_part_or_in_another_order_is_not_the_argument(tmp_path: Path) -> None:
    assert found(tmp_path, "x += g", "return x[:4], x.T") == {"in_place": {}, "updated": ["x"]}


def test_nothing_is_run_where_nothing_is_mutable(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(SOURCE + "    raise ValueError\n")
    module = ReferenceModule(tmp_path / "reference.py", {})
    assert updates(module, [module.get_inputs(1)], {}) == {"in_place": {}, "updated": []}


def test_a_reference_that_might_not_end_is_given_own_draws_alone(tmp_path: Path) -> None:
    loop = ["while np.abs(g).max() > 50: pass", "x += 1", "return x"]
    assert found(tmp_path, *loop)["in_place"] == {"x": 0}


def test_the_draws_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(SOURCE + "    x += g\n    return x\n")
    module = ReferenceModule(tmp_path / "reference.py", {})
    drawn = module.get_inputs(1)
    before = [item.copy() for item in drawn]
    updates(module, [drawn], {"x": 0})
    assert all(np.array_equal(one, other) for one, other in zip(before, drawn, strict=True))
