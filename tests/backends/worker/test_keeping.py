"""A text that could remember an earlier call is traced twice; one that could not is not."""

from typing import Any

import pytest

from nki_anvil.backends.worker import keeping, kernel_text

KEEPING = [
    "CALLS = []",
    "SEEN = {}",
    "def helper(x, calls=[]):\n    return x",
    "import itertools\nCOUNT = itertools.count()",
    "class Box:\n    calls = []",
    "class Box:\n    pass\nBOX = Box()",
    "def make():\n    calls = []\n    def helper(x):\n        return calls\n    return helper\nhelper = make()",
    "TURNS = (i for i in range(3))",
    "NESTED = (1, ([],))",
]
PLAIN = [
    "P, NAME, SIZES = 128, 'x', (1, (2.0, None))",
    "import math\n\ndef helper(x, size=3):\n    return math.ceil(x / size)",
    "class Tile:\n    rows = 128\n\n    def __init__(self, start):\n        self.start = start",
]


def namespace(text: str) -> dict[str, Any]:
    return kernel_text.load(kernel_text.parse(text + "\n\n\ndef kernel(x):\n    return x\n"))[0]


@pytest.mark.parametrize("text", KEEPING)
def test_what_can_hold_something_from_one_call_to_the_next_is_noticed(text: str) -> None:
    assert keeping.keeps(namespace(text))


@pytest.mark.parametrize("text", PLAIN)
def test_numbers_functions_and_plain_classes_hold_nothing(text: str) -> None:
    assert not keeping.keeps(namespace(text))


def test_a_module_is_called_otherwise_each_time_it_is_executed() -> None:
    names = {namespace("P = 1")["__name__"] for _ in range(8)}
    assert len(names) == 8
    assert not any("kernel" in name or "anvil" in name for name in names)
