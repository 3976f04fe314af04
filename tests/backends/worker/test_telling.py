"""A text may not ask what its objects call themselves, which its file and its memory decide."""

from typing import Any

import pytest

from nki_anvil.backends.worker import kernel_text, rewriting
from nki_anvil.backends.worker.telling import ArrayWritten, PlaceTold


def result(text: str) -> Any:
    made = "import functools\nfrom typing import *\nimport numpy as np\nclass Config:\n    rows = 1\n"
    return rewriting.load(kernel_text.parse(f"{made}{text}\n\n\ndef kernel(x):\n    return x\n"))[0]["found"]


@pytest.mark.parametrize(
    "text",
    [
        "found = repr(Config)",
        "found = str(Config())",
        "found = f'{Config}'",
        "found = '{}'.format(Config)",
        "found = str(List[Config])",
        "found = repr(NewType('N', int))",
        "found = f'{Annotated[int, Config]}'",
        "found = repr((Config,))",
        "found = functools.partial(str, Config)()",
        "found = np.array([Config]).astype(str)",
        "found = (np.ones(1, dtype=np.int64) * [10**30]).tobytes()",
        "found = np.copy(np.ones(1, dtype=np.int64) * [10**30])",
        "def helper(x): ...\nfound = str(helper)",
        "found = repr(object())",
        "def shown():\n    return f'{Config}' == 'x'\nfound = shown()",
        "found = '%s' % Config",
        "found = '%.14r' % Config",
        "found = '%(kind)-9.3s' % {'kind': Config}",
        "found = b'%a' % Config",
        "found = np.dtype('S90').type(Config)",
        "found = (repr, [])[1] or [str(Config)]",
        "class Sink:\n    def write(self, text):\n        pass\nfound = print(Config, file=Sink())",
        "class Sink:\n    def __format__(self, way):\n        return ''\nfound = f'{Sink():{Config}}'",
        "class Sink:\n    def __format__(self, way):\n        return ''\nfound = f'{Sink()!r:{Config}}'",
        "found = np.zeros(1, dtype=[('a', 'U60')])",
        "found = np.array([Config], dtype=object)",
    ],
)
def test_what_an_object_calls_itself_is_not_told(text: str) -> None:
    with pytest.raises(PlaceTold, match="its module and address are told"):
        result(text)


@pytest.mark.parametrize(
    "text",
    [
        "found = f'{np.array([1e-10, 1.0])}'",
        "found = str(np.zeros(3))",
        "found = repr((1, [np.float32(0.1)]))",
        "found = '{}'.format({'a': np.ones(2)})",
        "found = '{a}'.format(a=np.ones(2))",
        "found = '{}{}'.format(*[1, np.ones(2)])",
        "found = '%s' % np.float64(0.1)",
        "found = repr(np.int64(1))",
        "found = f'{[np.bool_(True)]}'",
        "import dataclasses\n@dataclasses.dataclass\nclass Held:\n    one: object\nfound = f'{Held(np.ones(2))}'",
    ],
)
def test_no_array_is_written_as_text_for_a_users_program_says_how_they_look(text: str) -> None:
    with pytest.raises(ArrayWritten):
        result(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("found = f'{Config.rows:>{3}}'", "  1"),
        ("found = f'{Config.rows!s:>{3}}', f'{1.5:.{2}f}'", ("  1", "1.50")),
        ("found = '%d'\nfound %= 3", "3"),
        ("def left():\n    pair = [7]\n    pair[0] %= 4\n    return pair\nfound = left()", [3]),
        ("found = '_'.join(map(str, (1, 2)))", "1_2"),
        ("found = isinstance('x', str), isinstance(1, str), isinstance('x', (int, str))", (True, False, True)),
        ("found = type('x') == str", True),
        ("found = [type(one) == type(len) for one in (max, min, sum, abs)]", [True] * 4),
        ("found = f'{np.dtype(np.float32)} {int(np.int64(3))}'", "float32 3"),
        ("found = str.upper('x'), str(b'x', 'utf8'), str()", ("X", "x", "")),
        ("found = '%d of %s' % (1, 'x')", "1 of x"),
        ("found = 7 % 4, repr(1.5), str([1, 'a'])", (3, "1.5", "[1, 'a']")),
        ("class Own:\n    def __repr__(self):\n        return 'own'\nfound = f'{Own()}'", "own"),
        ("class Sub(Config):\n    def __init__(self):\n        super().__init__()\nfound = Sub().rows", 1),
    ],
)
def test_other_texts_are_as_python_makes_them(text: str, found: object) -> None:
    assert result(text) == found
