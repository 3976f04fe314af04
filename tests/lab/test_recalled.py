"""What a reference is written with, or computes with whatever it is given, occurs in its inputs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import recalled
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
    found = recalled.sequences([*recalled.named(module.held), *recalled.unmoved(one, other)])
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
    assert [one.tolist() for one in recalled.sequences(recalled.named(held))] == [[123, 125, 91, 93], [97, 98, 99]]
    assert [one.tolist() for one in recalled.sequences(recalled.named({"table": np.eye(2), "empty": ()}))]


def test_lists_in_lists_and_in_dictionaries_are_sequences_each() -> None:
    held = {"stops": [[198, 25, 7], [628, 9]], "tags": {"end": "</s>", "pairs": ((40, 41), (91, 93))}}
    found = [one.tolist() for one in recalled.sequences(recalled.named(held))]
    assert found == [[198, 25, 7], [628, 9], [60, 47, 115, 62], [40, 41], [91, 93]]


def test_classes_sets_defaults_patterns_and_what_leaves_a_place_open_hold_sequences_too(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(
        "import re\nimport numpy as np\nWORD = re.compile(b'secret')\n"
        "OPEN = (77, None, 78, 79)\nSTOPS = {(50, 51, 52)}\n"
        "class Held:\n    TAG = (90, 91, 92)\ndef get_inputs():\n    return [np.ones(4)]\n"
        "def forward(x, more=(60, 61, 62)):\n    return x\n"
    )
    module = ReferenceModule(tmp_path / "reference.py", {})
    found = [one.tolist() for one in recalled.sequences(recalled.named(module.held))]
    for sequence in ([*b"secret"], [77, 0, 78, 79], [50, 51, 52], [90, 91, 92], [60, 61, 62]):
        assert sequence in found, sequence


def test_a_sequence_may_be_the_steps_of_a_row() -> None:
    own = np.full((512, 40), 100, np.int32)
    bent = recalled.laid([np.array([7.0, -9, 5])], {"x": own}, np.random.default_rng(1))["x"]
    steps = np.lib.stride_tricks.sliding_window_view(np.diff(bent, axis=1), 3, axis=-1)
    assert (steps == [7, -9, 5]).all(-1).any()


def test_of_many_rows_of_a_table_none_is_left_out_and_none_displaces_another_name() -> None:
    table = np.arange(96.0).reshape(24, 4)
    found = [one.tolist() for one in recalled.sequences(recalled.named({"table": table, "other": (5, 6, 900)}))]
    assert all(row in found for row in table.tolist())
    assert [5, 6, 900] in found[:2]


def test_axes_and_what_inputs_are_drawn_with_are_none(tmp_path: Path) -> None:
    found = held(tmp_path)
    assert [1.0, 0.0] not in found
    assert [7.0, 8.0, 9.0, 10.0, 11.0] not in found


def spelt(row: np.ndarray[Any, Any]) -> bool:
    return any(tuple(row[at : at + len(STOP)]) == STOP for at in range(len(row)))


def test_a_row_of_integers_holds_a_sequence_or_nearly_all_of_it() -> None:
    own = np.zeros((256, 40), np.int32)
    bent = recalled.laid([np.array(STOP, float)], {"x": own}, np.random.default_rng(1))["x"]
    assert 0.4 < np.mean([spelt(row) for row in bent]) < 0.9
    assert np.mean([row.any() for row in bent]) > 0.8
    assert spelt(bent[:, : len(STOP)][[spelt(row[: len(STOP)]) for row in bent]][0])


def test_a_sequence_fills_a_row_here_and_there() -> None:
    own = np.zeros((256, 40), np.int32)
    bent = recalled.laid([np.array(STOP, float)], {"x": own}, np.random.default_rng(1))["x"]
    assert sum(np.array_equal(row, np.resize(STOP, 40)) for row in bent) > 5


def test_a_sequence_stands_with_one_of_its_elements_another_one() -> None:
    own = np.zeros((512, 40), np.int32)
    bent = recalled.laid([np.array(STOP, float)], {"x": own}, np.random.default_rng(1))["x"]
    windows = np.lib.stride_tricks.sliding_window_view(bent, len(STOP), axis=-1) == STOP
    for place in range(len(STOP)):
        others = [at for at in range(len(STOP)) if at != place]
        assert (windows[..., others].all(-1) & ~windows[..., place]).any()


def test_a_sequence_stands_across_the_ends_of_chunks_and_of_its_row_and_backwards() -> None:
    own = np.zeros((2048, 256), np.int32)
    bent = recalled.laid([np.array(STOP, float)], {"x": own}, np.random.default_rng(1))["x"]
    begun = np.lib.stride_tricks.sliding_window_view(np.hstack([bent, bent[:, :3]]), 4, axis=-1)
    places = set(np.flatnonzero((begun == STOP).all(-1).any(0)).tolist())
    assert {62, 126, 127, 190, 253, 254, 255} <= places
    assert (begun == STOP[::-1]).all(-1).any()


def test_a_row_holds_two_sequences_as_well() -> None:
    own = np.zeros((512, 64), np.int32)
    tags = [np.array([5, 6, 7, 8, 9.0]), np.array(STOP, float)]
    bent = recalled.laid(tags, {"x": own}, np.random.default_rng(1))["x"].astype(int)
    both = [row for row in bent if spelt(row) and "5, 6, 7, 8, 9" in str(row.tolist())]
    assert len({row.tolist().index(5) < row.tolist().index(628) for row in both}) == 2


def test_two_sequences_of_one_length_are_brackets_within_brackets_right_or_wrong_in_one_place() -> None:
    opened, closed = np.frombuffer(b"([{", np.uint8).astype(float), np.frombuffer(b")]}", np.uint8).astype(float)
    own = np.full((512, 32), 97, np.uint8)
    bent = recalled.laid([opened, closed], {"x": own}, np.random.default_rng(1))["x"]
    halves = [(row[:16], row[:15:-1]) for row in bent if np.isin(row[:16], opened).all()]
    partner = dict(zip(opened.tolist(), closed.tolist(), strict=True))
    wrong = {sum(partner[a] != b for a, b in zip(*half, strict=True)) for half in halves}
    assert 0 in wrong
    assert wrong & {1, 2, 3}


@pytest.mark.parametrize("length", [64, 20])
def test_a_row_of_floats_holds_little_beside_a_sequence(length: int) -> None:
    rng = np.random.default_rng(2)
    sequence = np.sin(np.arange(length))
    own = rng.standard_normal((256, 64)).astype(np.float32)
    bent = recalled.laid([sequence], {"x": own}, rng)["x"].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(bent, length, axis=-1)
    alike = np.abs(windows @ sequence) / np.maximum(np.linalg.norm(windows, axis=-1) * np.linalg.norm(sequence), 1e-30)
    assert (alike.max(axis=-1) > 0.999).mean() > 0.5


def test_what_does_not_fit_is_not_laid() -> None:
    own = {"x": np.zeros((4, 3), np.int32), "y": np.zeros((4, 6), np.uint8), "z": np.zeros((4, 6), np.float32)}
    assert not recalled.laid([np.array(STOP, float)], own, np.random.default_rng(0))
