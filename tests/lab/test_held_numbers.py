"""What a reference is written with, or computes with whatever it is given, is found in whatever holds it."""

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import held_numbers
from nki_anvil.lab.honest_runs import HonestRuns
from nki_anvil.lab.reference_module import ReferenceModule

STOP = (628, 198, 2949, 25)

REFERENCE = """
import numpy as np

STOP = (628, 198, 2949, 25)
TABLE = np.cos(np.arange(64))

def get_inputs():
    return [np.ones((16, 64), np.float32), (7, 8, 9, 10, 11)]

def forward(x, *_):
    tone = np.sin(0.3 * np.arange(64))
    return x.transpose(1, 0).T * tone + sum((3, 1, 4, 1, 5, 9))
"""


def held(tmp_path: Path) -> list[list[float]]:
    (tmp_path / "reference.py").write_text(REFERENCE)
    module = ReferenceModule(tmp_path / "reference.py", {})
    runs = HonestRuns(module, ["float32"], "float32", 0.0)
    rng = np.random.default_rng(0)
    one, other = (runs.operands([rng.standard_normal((16, 64)).astype(np.float32)]) for _ in range(2))
    found = held_numbers.held(module.held, held_numbers.unmoved(one, other)).lines
    return [sequence.tolist() for sequence in found]


def test_sequences_are_what_names_hold_what_functions_are_written_with_and_what_runs_have_in_common(
    tmp_path: Path,
) -> None:
    found = held(tmp_path)
    assert [*map(float, STOP)] in found
    assert np.cos(np.arange(64)).tolist() in found
    assert any(np.allclose(one, np.sin(0.3 * np.arange(64))) for one in found if len(one) == 64)
    assert [3.0, 1.0, 4.0, 1.0, 5.0, 9.0] in found


def test_bytes_and_texts_are_numbers_and_what_is_mixed_or_beyond_all_formats_is_none() -> None:
    held = {"marks": b"{}[]", "name": "abc", "mixed": (1, "b", 7), "huge": (1 << 2000, 9), "none": (float("nan"), 5)}
    assert [one.tolist() for one in held_numbers.held(held).lines] == [[123, 125, 91, 93], [97, 98, 99]]
    assert [one.tolist() for one in held_numbers.held({"table": np.eye(2), "empty": ()}).lines]


def test_lists_in_lists_and_in_dictionaries_are_sequences_each() -> None:
    held = {"stops": [[198, 25, 7], [628, 9]], "tags": {"end": "</s>", "pairs": ((40, 41), (91, 93))}}
    found = [one.tolist() for one in held_numbers.held(held).lines]
    assert found[:5] == [[198, 25, 7], [628, 9], [60, 47, 115, 62], [40, 41], [91, 93]]


def test_classes_sets_defaults_patterns_and_what_leaves_a_place_open_hold_sequences_too(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(
        "import re\nimport numpy as np\nWORD = re.compile(b'secret')\n"
        "OPEN = (77, None, 78, 79)\nSTOPS = {(50, 51, 52)}\n"
        "class Held:\n    TAG = (90, 91, 92)\ndef get_inputs():\n    return [np.ones(4)]\n"
        "def forward(x, more=(60, 61, 62)):\n    return x\n"
    )
    module = ReferenceModule(tmp_path / "reference.py", {})
    found = [one.tolist() for one in held_numbers.held(module.held).lines]
    for sequence in ([*b"secret"], [77, 0, 78, 79], [50, 51, 52], [90, 91, 92], [60, 61, 62]):
        assert sequence in found, sequence


def test_of_many_rows_of_a_table_none_is_left_out_and_none_displaces_another_name() -> None:
    table = np.arange(96.0).reshape(24, 4)
    found = [one.tolist() for one in held_numbers.held({"table": table, "other": (5, 6, 900)}).lines]
    assert all(row in found for row in table.tolist())
    assert [5, 6, 900] in found[:2]


def test_axes_and_what_inputs_are_drawn_with_are_none(tmp_path: Path) -> None:
    found = held(tmp_path)
    assert [1.0, 0.0] not in found
    assert [7.0, 8.0, 9.0, 10.0, 11.0] not in found


@dataclass
class Settings:
    """What a reference may keep its numbers in."""

    stops: list[int] = field(default_factory=lambda: [70, 71, 72])


@pytest.mark.parametrize(
    "holder",
    [
        {(70, 71, 72): 1.5},
        {"a": {(70, 71, 72)}},
        deque([70, 71, 72]),
        range(70, 73),
        bytearray(b"FGH"),
        Settings(),
        SimpleNamespace(stops=(70, 71, 72)),
        [np.int64(70), np.int64(71), np.int64(72)],
        np.array([[[70, 71, 72], [1, 2, 3]]]),
        np.arange(70, 73).reshape(3, 1, 1) * np.ones((1, 2, 2), int),
    ],
)
def test_sequences_are_found_in_keys_and_in_whatever_holds_several(holder: Any) -> None:
    assert [70, 71, 72] in [one.tolist() for one in held_numbers.held({"it": holder}).lines]


def test_names_of_arguments_are_no_sequences_and_what_is_empty_is_none(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(
        "import numpy as np\nNONE = np.zeros((3, 0))\ndef get_inputs():\n    return [np.ones((4, 4))]\n"
        "def forward(x):\n    words = ('secret', 'word')\n    return x.sum(axis=1, keepdims=True) * len(words)\n"
    )
    found = [one.tolist() for one in held_numbers.held(ReferenceModule(tmp_path / "reference.py", {}).held).lines]
    assert found == [[*b"secret"], [*b"word"]]


def test_a_table_of_truths_is_one_of_ones_and_zeros() -> None:
    words = np.array([[True, False, True, True, False, True]] * 2)
    assert [one.tolist() for one in held_numbers.held({"words": words}).lines] == [[1, 0, 1, 1, 0, 1]]


def test_planes_are_blocks_and_so_is_what_has_as_many_numbers() -> None:
    held = held_numbers.held(
        {"glyphs": np.arange(24).reshape(2, 3, 4), "flat": list(range(100, 135)), "long": [*b"abcdefg"]}
    )
    shapes = [one.shape for one in held.blocks]
    assert np.arange(12, 24).reshape(3, 4).tolist() in [one.tolist() for one in held.blocks]
    assert {(5, 7), (7, 5)} <= set(shapes)
    assert (1, 7) not in shapes


def test_numbers_of_several_digits_are_told_from_others_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(
        "import numpy as np\nKINDS = {0x89504E47: 'png', 3: 'none'}\nCODES = np.array([70000, 5])\n"
        "def get_inputs():\n    return [np.full(4, 99999)]\ndef forward(x):\n    return x == 123456\n"
    )
    module = ReferenceModule(tmp_path / "reference.py", {})
    assert set(held_numbers.held(module.held).numbers) == {0x89504E47, 70000, 123456}
