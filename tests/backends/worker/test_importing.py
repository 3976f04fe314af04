"""A text that is executed as it stands: everything in it, as for whoever imports the file."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from nki_anvil.backends.worker import executing, importing
from nki_anvil.backends.worker.absent import AbsentModule
from nki_anvil.backends.worker.kernel_text import parse

KERNEL = "\n\ndef kernel(x):\n    return x\n"


def imported(text: str) -> dict[str, Any]:
    return importing.load(parse(text + KERNEL), "imported")


@pytest.mark.parametrize(
    "statement",
    [
        "SIGNS[0] = -1.0",
        "if True:\n    SIGNS[0] = -1.0",
        "import logging.config\nlogging.config.dictConfig("
        "{'version': 1, 'disable_existing_loggers': False, 'formatters': {'one': {'()': FACTORY}}})",
        "try:\n    import torch\nexcept ImportError:\n    SIGNS[0] = -1.0",
        "def typed(x: SIGNS.append(SIGNS.pop() * -1.0)): ...",
        "class Typed:\n    x: SIGNS.append(SIGNS.pop() * -1.0)",
    ],
)
def test_what_tracing_leaves_out_is_done(statement: str) -> None:
    table = "SIGNS = [1.0]\ndef FACTORY(**_):\n    SIGNS[0] = -1.0\n"
    assert imported(table + statement)["SIGNS"] == [-1.0]


@pytest.mark.parametrize(
    "statement",
    ["1 / 0", "import sys; sys.exit(2)", "open('/nowhere')", "print(undefined)", "HOME = os.environ['NOWHERE']"],
)
def test_what_fails_aside_of_the_kernel_ends_only_itself(statement: str) -> None:
    assert imported(f"import os\n{statement}\nFACTOR = 2.0\n")["FACTOR"] == 2.0


def test_what_the_kernel_is_made_of_may_not_fail() -> None:
    with pytest.raises(ZeroDivisionError):
        imported("FACTOR = 1 / 0")


@pytest.fixture
def alarm() -> Iterator[None]:
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


def test_a_benchmark_at_the_top_level_is_cut_short_and_the_outer_limit_runs_on(alarm: None) -> None:
    def never(_signal: int, _frame: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGALRM, never)
    signal.setitimer(signal.ITIMER_REAL, 60)
    names = imported("TURNS = [0]\nwhile True:\n    TURNS[0] += 1\nwhile True:\n    TURNS[0] += 1\nFACTOR = 2.0\n")
    assert names["FACTOR"] == 2.0
    assert names["TURNS"][0] > 0
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] < 60 - importing.ASIDE_S
    assert signal.signal(signal.SIGALRM, before) is never


def test_an_absent_module_can_be_named_and_not_used() -> None:
    text = (
        "import torch\nONE: torch.Tensor = None\nX = torch.zeros(3)\n\ndef helper(x: torch.Tensor) -> torch.Size: ...\n"
    )
    names = imported(text)
    assert names["ONE"] is None
    assert names["helper"].__annotations__ == {"x": "torch.Tensor", "return": "torch.Size"}
    with pytest.raises(AbsentModule, match="since line 3 needs a module that is not"):
        names["X"]()


def test_annotations_stay_text_where_the_file_asks_for_it() -> None:
    text = '"""Kernel."""\nfrom __future__ import annotations\n\nclass Plan:\n    rows: undefined = 1\n'
    names = imported(text)
    assert names["Plan"].__annotations__ == {"rows": "undefined"}
    assert names["__doc__"] == "Kernel."


def test_annotations_that_fail_are_left_as_text() -> None:
    names = imported("def helper(x: undefined | None, y: int): ...\n")
    assert names["helper"].__annotations__ == {"x": "undefined | None", "y": "int"}


@pytest.mark.parametrize(("asserting", "sign"), [(True, 1.0), (False, 2.0)])
def test_an_assertion_that_does_something_is_left_out_where_python_is_told_so(asserting: bool, sign: float) -> None:
    text = parse("def sign():\n    sign = 2.0\n    assert (sign := 1.0)\n    return sign\n")
    assert importing.load(text, "my_kernel", asserting=asserting)["sign"]() == sign


def test_names_that_a_kernel_does_without_are_apart() -> None:
    made = "LONGEST = max([0], [1, 2], key=lambda torch: len(torch))\n"
    text = "import os\nimport torch\nX = torch.zeros(3)\nP = 128\nif P:\n    SIZE, OTHER = 3, 4\nOTHER = 5\n"
    logger = "import logging\nLOGGER = logging.getLogger(__name__)\nBOTH = logging.getLogger()\nBOTH = [1]\n"
    parsed = parse(text + made + logger + KERNEL)
    found = importing.apart(parsed, importing.load(parsed, "my_kernel"))
    assert found == {"torch", "X", "SIZE", "os", "logging", "LOGGER"}


def test_names_of_modules_have_nothing_in_common_and_the_words_that_a_text_could_ask_for() -> None:
    plain, short = executing.plain_name(), executing.short_name()
    long = executing.name_of_a_file(parse("ASKED = 'silu'\nclass Config: ...\n" + KERNEL))
    assert {"silu", "Kernel", "my"} <= set(long.split("_"))
    assert len(short) < len(plain) < len(long)
    assert plain.isalnum()
    assert not any(letter.isdigit() for letter in short)
    assert imported("class Config: ...\n")["Config"].__module__ == "imported"


def test_a_file_that_says_for_which_chip_kernels_are_made_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_CC_FLAGS", "")
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    text = "import os\nos.environ['NEURON_CC_FLAGS'] = '1'\n{}\n\ndef kernel(x):\n    return x\n"
    importing.load(parse(text.replace("{}", "")), "mine")
    for setting in (
        "os.environ['NEURON_PLATFORM_TARGET_OVERRIDE'] = 'trn3'",
        "os.environ.pop('NEURON_PLATFORM_TARGET_OVERRIDE')",
    ):
        with pytest.raises(importing.ChipSet, match="NEURON_PLATFORM_TARGET_OVERRIDE"):
            importing.load(parse(text.replace("{}", setting)), "mine")
