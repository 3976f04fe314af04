"""Tables without one of their elements, or without half: references that know less."""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab.lesser_references import LesserReferences, untold
from nki_anvil.lab.reference_module import ReferenceModule
from nki_anvil.lab.shorter_tables import shorter


def kept(text: str) -> list[Any]:
    """What a name comes to hold, again and again without something."""
    held: dict[str, Any] = {"np": np}
    statement = ast.parse(text).body[0]
    exec(text, held)
    found: list[Any] = []
    for _, instead, _ in shorter(statement, held):
        value = eval(compile(ast.fix_missing_locations(ast.Expression(instead)), "", "eval"), held)
        found.append(value.tolist() if isinstance(value, np.ndarray) else value)
    return found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("T = np.arange(3)", [[1, 2], [0, 2], [0, 1], [0]]),
        ("T = np.arange(4).reshape(2, 2)", [[[2, 3]], [[0, 1]]]),
        ("T = dict(a=1, b=2)", [{"b": 2}, {"a": 1}]),
        ("T = {5, 6}", [{6}, {5}]),
        ("T = frozenset([7]) | {8}", [{8}, {7}]),
        ("T = tuple(range(3))", [(1, 2), (0, 2), (0, 1), (0,)]),
        ("T = 'ab'", ["b", "a"]),
        ("T = b'ab'", [b"b", b"a"]),
        ("T: list = list(range(20))", [[*range(1, 20)], [*range(19)], [*range(10)]]),
        ("T = [1, 2, 3]", []),
        ("T = np.array([1, 2, 3])", []),
        ("T = 5", []),
        ("T = [1]", []),
        ("T, U = 'ab', 'cd'", []),
    ],
)
def test_each_element_is_left_out_and_half_where_they_are_not_written_out_in_a_list(text: str, left: list[Any]) -> None:
    assert kept(text) == left


REFERENCE = """
import numpy as np

WORDS = np.random.RandomState(3).randint(5, 90, (4, 3))
WEIGHTS = {(7, 8, 9): 2.0, (11, 12, 13): 3.0}

def get_inputs():
    rows = np.random.randint(0, 5, (32, 8))
    rows[::3, 2:5], rows[1::3, 1:4] = WORDS[1], (7, 8, 9)
    return [rows.astype(np.int32)]

def forward(rows):
    parts = np.lib.stride_tricks.sliding_window_view(rows, 3, axis=1)
    found = (parts[:, :, None] == WORDS).all(-1).any(-1).sum(1, keepdims=True).astype(np.float32)
    for word, weight in WEIGHTS.items():
        found += weight * (parts == word).all(-1).any(1, keepdims=True)
    return found
"""


def test_opening_says_which_words_of_a_table_occur_in_no_case(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(REFERENCE)
    module = ReferenceModule(tmp_path / "reference.py", {})
    lessers = LesserReferences(module)
    for seed in range(3):
        lessers.look_at(dict(zip(module.names, module.get_inputs(seed), strict=True)))
    said = " ".join(untold(lessers.seen))
    for number, occurs in enumerate((False, True, False, False)):
        assert (f"in line 4 of reference.py element {number} is in `WORDS`" in said) != occurs
    assert "`WORDS` has more than 2 of its 4" in said
    assert "`(11, 12, 13)` is in `WEIGHTS`" in said
    assert "`(7, 8, 9)` is in `WEIGHTS`" not in said
