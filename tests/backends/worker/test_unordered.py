"""A kernel has no sets: their order is another in every process."""

from typing import Any

import pytest

from nki_anvil.backends.worker import kernel_text, rewriting
from nki_anvil.backends.worker.unordered import SetHeld


def result(text: str) -> Any:
    return rewriting.load(kernel_text.parse(f"{text}\n\n\ndef kernel(x):\n    return x\n"))[0]["found"]


@pytest.mark.parametrize(
    "text",
    [
        "found = [name for name in {'a', 'b'}]",
        "found = [*{1, 2}]",
        "def names(of):\n    for one in of:\n        return one\nfound = names({'a', 'b'})",
        "found = {'a': 1}.keys() | {'b': 2}.keys()",
        "found = {'a': 1}.items() ^ {'b': 2}.items()",
        "found = {'a'}.union('b')",
        "found = {'a': 1}.keys()\nfound &= ['a', 'b']",
        "import functools, operator\nfound = functools.reduce(operator.sub, [{'a': 1}.keys(), {'b': 1}.keys()])",
        "import functools, operator\nfound = functools.partial(operator.sub, {'a': 1}.keys())(['b'])",
    ],
)
def test_no_set_comes_of_anything_and_none_is_gone_through(text: str) -> None:
    with pytest.raises(SetHeld, match="holds a set"):
        result(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("found = 'a' in {'a', 'b'}, 'c' not in {'a', 'b'}", (True, True)),
        ("found = sorted(set('ba'))", ["a", "b"]),
        ("found = [*{'b': 1, 'a': 2}.keys()], [*{'b': 1}.items()]", (["b", "a"], [("b", 1)])),
    ],
)
def test_what_is_no_part_of_a_kernel_may_have_sets_that_are_in_no_order(text: str, found: object) -> None:
    assert result(text) == found
