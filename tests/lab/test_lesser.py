"""References without one thing, inputs that tell them from the reference, and a word where none is found."""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab.lesser import MOST, lessers
from nki_anvil.lab.lesser_references import ALIKE, DIFFERS, LesserReferences, untold
from nki_anvil.lab.reference_module import ReferenceModule
from nki_anvil.lab.searched_reference import Reference
from nki_anvil.lab.telling_apart import Walk, apart

BOARDS = """
import numpy as np

def get_inputs():
    rows = np.array([np.roll(np.arange(1, 5), 2 * (n % 2) + n // 2) for n in range(4)])
    boards = [(np.random.permutation(4) + 1)[rows - 1] for _ in range(32)]
    return [np.array(boards).reshape(32, 16).astype(np.int32)]

def forward(board):
    right = np.ones(len(board), bool)
    for digit in range(1, 5):
        has = (board == digit).reshape(len(board), 4, 4)
        right &= has.any(axis=2).all(axis=1) & has.any(axis=1).all(axis=1)
        right &= has.reshape(len(board), 2, 2, 2, 2).any(axis=(2, 4)).all(axis=(1, 2))
    return right.astype(np.float32)[:, None]
"""


def without(text: str) -> list[str]:
    """What is left of one function's body, again and again without one thing."""
    tree = ast.parse(f"def forward(a, b, c):\n    {text}\n")
    return [ast.unparse(one.tree.body[0]).partition("\n")[2].strip() for one in lessers(tree)]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("return a & b & c", ["return a & b", "return c", "return a & c", "return b & c"]),
        ("a |= b", ["pass"]),
        ("return a and b and c", ["return b and c", "return a and c", "return a and b"]),
        ("return np.where(a, b, c)", ["return b", "return c"]),
        ("return np.maximum(a, 0)", ["return a"]),
        ("return max(a, b)", ["return a", "return b"]),
        ("return a < b", ["return a < b + 1", "return a < b - 1"]),
        ("for n in range(8): b", [
            "for n in range(0, 8 - 1):\n        b", "for n in range(0, (0 + 8 + 1) // 2):\n        b",
        ]),
        ("if a: b", ["if False:\n        pass"]),
        ("while a: a &= b", []),
        ("for n in f():\n        if a: break", []),
        ("return a * b", ["return a", "return b"]),
        ("return f([a, b, c])", ["return f([b, c])", "return f([a, c])", "return f([a, b])"]),
        ("return a * 1.0", ["return 1.0"]),
        ("return 0 - a", ["return 0", "return a"]),
        ("return a[b, c]", []),
        ("return re.compile(a, re.I)", ["return re.compile(a)"]),
        ("return a.any()", ["return np.ravel(a)[:-1].any()", "return np.ravel(a)[1:].any()"]),
        ("while a.any(): b.all()", []),
    ],
)  # fmt: skip
def test_one_thing_is_left_out_at_a_time(text: str, left: list[str]) -> None:
    assert without(text) == left


@pytest.mark.parametrize(
    ("over", "shortened", "ends_with"),
    [
        ("a", "{}", "a"),
        ("a.T", "{}", "a.T"),
        ("a[1:]", "{}", "a[1:]"),
        ("np.moveaxis(a, 1, 0)", "{}", "np.moveaxis(a, 1, 0)"),
        ("enumerate(a.T, 1)", "enumerate({}, 1)", "a.T"),
        ("zip(a, b, strict=True)", "zip({}, b, strict=True)", "a"),
        ("enumerate(reversed(a))", "enumerate(reversed({}))", "a"),
    ],
)
def test_a_loop_over_an_array_is_left_without_its_last_turn_and_its_second_half(
    over: str, shortened: str, ends_with: str
) -> None:
    ends = (f"{ends_with}[:-1]", f"{ends_with}[:(len({ends_with}) + 1) // 2]")
    wanted = [shortened.format(end) for end in ends]
    assert without(f"for n in {over}: c") == [f"for n in {one}:\n        c" for one in wanted]
    assert without(f"return [c for n in {over}]") == [f"return [c for n in {one}]" for one in wanted]


def test_turns_are_told_but_those_of_tables_and_of_what_may_have_no_end_are_left() -> None:
    text = "WORDS = [3, 5]\ndef forward(a):\n    for n in {}: a\n"
    found = lessers(ast.parse(text.format("enumerate(a.T)")))
    assert [(one.said, one.tells) for one in found] == [
        (f"it is `enumerate(a.T)` and not `enumerate(a.T[:{end}])`", True) for end in ("-1", "(len(a.T) + 1) // 2")
    ]
    for over in ("WORDS", "enumerate(WORDS)", "count()", "zip(count(), a)", "enumerate(iter(f, a))"):
        assert not lessers(ast.parse(text.format(over).replace("WORDS = [3, 5]", "WORDS = f(8)")))


def test_of_a_table_that_the_whole_text_holds_the_end_is_left_out() -> None:
    text = "TABLE, ONE = np.eye(9), 1\ndef forward(a):\n    return TABLE[{}]\n"
    for index, first, rest in (("a", "a", ""), ("a + 1, ONE", "a + 1", ", ONE")):
        found = [ast.unparse(one.tree.body[1]) for one in lessers(ast.parse(text.format(index)))]
        ends = ("len(TABLE) - 2", "(len(TABLE) - 1) // 2")
        wanted = [f"return TABLE[np.minimum({first}, {end}){rest}]" for end in ends]
        assert [line for one in found if "minimum" in (line := one.partition("\n")[2].strip())] == wanted
    for index in ("0", ":a", "0, a"):
        assert "minimum" not in "".join(ast.unparse(one.tree) for one in lessers(ast.parse(text.format(index))))


def test_a_factor_that_is_one_is_not_left_out() -> None:
    """`fired * LIMIT`: no input shows it."""
    tree = ast.parse("LIMIT = 1.0\ndef forward(a):\n    return a * LIMIT\n")
    assert [ast.unparse(one.tree.body[1]).partition("\n")[2].strip() for one in lessers(tree, {"LIMIT": 1.0})] == [
        "return LIMIT"
    ]


def test_how_inputs_are_drawn_is_none_of_it_and_of_many_things_some_are_left_out() -> None:
    drawing = "WAYS = (1, 2)\ndef drawn():\n    return a & b\ndef get_inputs():\n    return drawn() & WAYS\n"
    assert lessers(ast.parse(drawing + "def forward(a):\n    return a\n")) == []
    found = lessers(ast.parse(drawing + "def forward(a):\n    return drawn() + WAYS\n"))
    assert {one.line for one in found} == {1, 3, 7}
    many = "def forward(a):\n" + "    a |= 1\n" * 200
    found = [one.line for one in lessers(ast.parse(many))]
    assert MOST // 2 <= len(found) <= MOST
    assert found[-1] > 190


def boards(tmp_path: Path) -> ReferenceModule:
    (tmp_path / "reference.py").write_text(BOARDS)
    return ReferenceModule(tmp_path / "reference.py", {})


def drawn(module: ReferenceModule, seed: int) -> dict[str, Any]:
    return dict(zip(module.names, module.get_inputs(seed), strict=True))


def test_a_walk_finds_boards_whose_rows_and_columns_are_right_alone(tmp_path: Path) -> None:
    module = boards(tmp_path)
    own, other = drawn(module, 1), drawn(module, 2)
    boxes = next(n for n, one in enumerate(module.lessers) if "reshape(len(board), 2" in one.said)
    lesser = LesserReferences(module).without(boxes)
    assert lesser is not None
    assert not apart(module.plain(list(own.values())), lesser(own), 0).any()
    reference = Reference(lambda given: module.plain(list(given.values())), lambda given: given)
    walk = Walk(reference, lesser, own, other, np.random.default_rng(0))
    found = walk.searched({"board": (1, 4)})["board"].reshape(-1, 4, 4)[walk.found]
    assert len(found)
    for board in found:
        assert all(len(set(line)) == 4 for line in (*board.tolist(), *board.T.tolist()))
        assert len(set(board[:2, :2].ravel().tolist())) < 4


def test_outputs_differ_in_what_is_no_number_too() -> None:
    one, other = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([[1.0, 2.0001], [3.0, np.nan], [5.0, 7.0]])
    assert apart([one], [other], 3).tolist() == [False, True, True]
    assert apart([one], [one[:2]], 0).tolist() == [True]


def test_outputs_differ_in_what_limits_tell_of_a_row() -> None:
    one, other = np.array([[1.0, 1e-3], [3.0, 4.0]]), np.array([[1.0, 1.00001e-3], [3.0, 4.0004]])
    assert apart([one], [other], 2).tolist() == [False, False]
    assert apart([one], [other], 2, 2e-5).tolist() == [False, True]
    assert apart([np.array(1.0)], [np.array(1.0001)], 0, 2e-5).tolist() == [True]
    column, near = np.array([[1.0], [1e-6], [np.inf]]), np.array([[1.0], [1.0001e-6], [np.inf]])
    assert apart([column], [near], 3, 2e-5).tolist() == [False, False, False]
    assert apart([column], [near * 1.0001], 3, 2e-5).tolist() == [True, False, False]


def test_what_no_draw_tells_is_searched_for_and_told_where_no_case_does(tmp_path: Path) -> None:
    module = boards(tmp_path)
    references = LesserReferences(module)
    own = drawn(module, 1)
    alike_at_first = references.alike([own])
    assert alike_at_first
    assert references.alike([own], alike_at_first[:1]) == alike_at_first[:1]
    references.look_at(own)
    alike = {key for key, seen in references.seen.items() if seen == ALIKE}
    assert any("reshape(len(board), 2" in key for key in alike)
    broken = own["board"].copy()
    broken[:, [0, 1]] = broken[:, [1, 0]]
    references.look_at({"board": broken})
    assert {seen for key, seen in references.seen.items() if "range(1, 5)" in key} <= {ALIKE, DIFFERS}
    told = list(untold({"reference.py:12:`right &= boxes` is there": ALIKE, "reference.py:9:it is `a`": DIFFERS}))
    assert told == [
        "In no case does it matter that in line 12 of reference.py `right &= boxes` is there: a kernel that does "
        "without is not told from the others. Let get_inputs draw where it matters, in a few rows."
    ]
