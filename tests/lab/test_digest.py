"""One digest, one kernel: what a digest leaves out means nothing."""

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.lab.digest import digest, normalise

PIECES = [
    "a = 1", '"""', "'''", "'", '"', "b'", "f'{", "}'", "#", "\\", "\n", "\n", "\r\n", "\r", " ", "  ", "\t", "\f", "x",
    ", ", "\u3000", "\xa0", "\x1f", "\x85", "(", ")", ";",
]  # fmt: skip


def hook() -> Any:
    """The plugin's hooks, which cannot import the server."""
    spec = importlib.util.spec_from_file_location("gate", Path(__file__).parents[2] / "hooks" / "gate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOK = hook()


def read(text: str) -> str | None:
    """What Python makes of a text; None where that is nothing."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError):
        return None


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ('n = len("""a\nb""")\n', 'n = len("""a \nb""")\n'),
        ("n = len('''a\n\nb''')\n", "n = len('''a\n\t\nb''')\n"),
        ('n = len(f"""a\n{1}""")\n', 'n = len(f"""a\u3000\n{1}""")\n'),
        ("n = 1 + \\\n    2\n", "n = 1 + \\ \n    2\n"),
        ("n = 1\n\\", "n = 1\n\\\n\n"),
        ("n = 1\n\\\n", "n = 1\n\\\r\n"),
        ("n = 1\nm = 2\n", "n = 1\xa0\nm = 2\n"),
        ('n = len("""a\nb""")\n', 'n = len("""a\r\r\nb""")\n'),
    ],
)
def test_white_space_at_the_end_of_a_line_that_means_something_makes_another_kernel(text: str, other: str) -> None:
    assert read(text) != read(other)
    assert digest(text) != digest(other)


def test_white_space_that_means_nothing_final_newlines_and_windows_line_ends_make_no_other_kernel() -> None:
    text = '"""Says\n\nmuch."""\nn = 1  # one\n\nm = (n,\n     2)\n'
    for other in (text.replace("\n", "\r\n"), text.rstrip(), text + "\n \n", text.replace("one\n\n", "one \t\n  \n")):
        assert digest(other) == digest(text)


def test_of_a_text_that_nobody_wrote_by_hand_all_white_space_counts() -> None:
    text = "n = 1\n" * 40_000
    spaced = text.replace("1\n", "1 \n", 1)
    assert HOOK.digest(spaced) == digest(spaced) != digest(text) == HOOK.digest(text)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_a_text_reads_as_what_its_digest_is_of(text: str) -> None:
    assert read(normalise(text)) == read(text)
    assert normalise(normalise(text)) == normalise(text)
    assert HOOK.digest(text) == digest(text)
