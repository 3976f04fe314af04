"""What a compiler on a host is given of a kernel's text: the statements that were read and traced, and no others."""

import ast
from pathlib import Path

import pytest

from nki_anvil.backends.worker import kernel_text
from nki_anvil.backends.worker.device.compile_process import kept

KERNELS = sorted((Path(__file__).parents[3] / "seeds" / "problems").glob("*/kernel.py"))
BODY = "@nki.jit\ndef kernel(x):\n    return x\n"


def statements(source: str) -> list[str]:
    return [ast.dump(statement) for statement in ast.parse(source).body]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.parent.name)
def test_a_kernel_stays_as_it_is_on_its_own_lines(kernel: Path) -> None:
    text = kernel_text.parse(kernel.read_text())
    tree = ast.parse(kept(text))
    assert [ast.dump(one) for one in tree.body] == [ast.dump(one) for one in text.statements]
    assert [one.lineno for one in tree.body] == [one.lineno for one in text.statements]


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("import nki\nrows = 1; forge()\n", "import nki\nrows = 1\n"),
        ("import nki\nforge(); rows = 1; columns = 2\n", "import nki\nrows = 1\ncolumns = 2\n"),
        ("import nki\nrows = (1,\n 2); forge(\n); columns = 3\n", "import nki\nrows = (1, 2)\ncolumns = 3\n"),
        ("import os, nki\n", "import nki\n"),
        ("import nki\nname = 'é'; forge()\n", "import nki\nname = 'é'\n"),
        ("import nki  # \x0c\u2028\nforge()\n", "import nki\n"),
        ("import nki\rrows = 1\rforge()\r", "import nki\nrows = 1\n"),
    ],
)
def test_what_shares_a_line_with_what_is_kept_is_left_out(source: str, left: str) -> None:
    text = kernel_text.parse(source + BODY)
    assert statements(kept(text)) == statements(left + BODY)
