"""A set says what it holds; its order it tells only where every process orders it alike."""

from typing import Any

import pytest

from nki_anvil.backends.worker import kernel_text, rewriting
from nki_anvil.backends.worker.unordered import OrderUnknown


def result(text: str) -> Any:
    return rewriting.load(kernel_text.parse(f"{text}\n\n\ndef kernel(x):\n    return x\n"))[0]["found"]


@pytest.mark.parametrize(
    "text",
    [
        "found = [name for name in {'a', 'b'}]",
        "found = next(iter({'a', 'b'}))",
        "found = {letter for letter in 'ab'}.pop()",
        "first, second = found = set('ab')",
        "found = str({'a', 'b'})",
        "found = f'{frozenset({None, True})}'",
        "found = list(frozenset('ab') | {'c'})",
        "found = list({'a'}.union('b'))",
        "found = dict.fromkeys({'a', 'b'})",
        "found = [*map(len, {'a', 'b'})]",
        "found = sorted({'a', 'b'}, key=len)",
        "found = list({('a', 1), ('b', 1)})",
        "found = min({frozenset({'a'}), frozenset({'b'})})",
        "found = sorted({('a', frozenset({1})), ('a', frozenset({2}))})",
        "import math\nfound = max({math.nan, 1.0})",
        "found = [*{1, 2}]",
        "def names(of):\n    of[:] = {'a', 'b'}\n    return of\nfound = names([])",
        "def names(of, at):\n    of[at] = {'a', 'b'}\n    return of\nfound = names([], slice(0))",
        "def names(of):\n    of[:]: list = {'a', 'b'}\n    return of\nfound = names([])",
        "class Order(ValueError):\n    pass\nfound = str(Order({'a', 'b'}))",
        "import itertools\nfound = tuple(itertools.chain.from_iterable([{'a', 'b'}]))",
        "import itertools\nfound = tuple(itertools.chain.from_iterable(one for one in [{'a', 'b'}]))",
        "import functools\nfound = functools.partial({'a', 'b'}.pop)()",
        "found = dict([{'a', 'b'}])",
        "def names(of):\n    of |= {('a', 1), ('b', 1)}\n    return of\nfound = names({})",
        "import itertools\nfound = list(itertools.accumulate([(), ()], lambda one, other: {'a', 'b'}))",
        "from itertools import accumulate as a, chain\nfound = [*chain.from_iterable(a([(), ()], lambda *_: {1, 2}))]",
        "def names(of):\n    of |= [{'a', 'b'}]\n    return of\nfound = names({})",
        "def names(of):\n    of[:], rest = {'a', 'b'}, 1\n    return of\nfound = names([])",
        "def names(of):\n    for of[0:1] in [{'a', 'b'}]:\n        return of\nfound = names([])",
        "def names():\n    return tuple({'a', 'b'})\nfound = names()",
    ],
)
def test_a_set_of_what_each_process_orders_anew_is_not_gone_through(text: str) -> None:
    with pytest.raises(OrderUnknown, match="goes through a set"):
        result(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("found = sorted({'b', 'a'})", ["a", "b"]),
        ("found = max({'b', 'a'}), min({'b', 'a'})", ("b", "a")),
        ("found = max(1, 2), min([3, 4]), max((1, 2), key=lambda x: -x)", (2, 3, 1)),
        ("def names(of):\n    of[:], one = (1, 2), {'b'}\n    return of\nfound = names([])", [1, 2]),
        ("found = len({'a', 'b'} - {'a'})", 1),
        ("found = 'a' in {'a', 'b'}, {'a', 'b'} == {'b', 'a'}, {'a'} <= {'a', 'b'}", (True, True, True)),
        ("found = {'a', 'b'}.isdisjoint({'c', 'd'})", True),
        ("names = {'a'}\nnames |= {'b', 'c'}\nfound = len(names)", 3),
        ("def names(of):\n    of |= {'b', 'c'}\n    return len(of)\nfound = names({'a'})", 3),
        ("def names(of):\n    of |= [('b', 1)]\n    return of\nfound = names({})", {"b": 1}),
        ("found = sorted({1, 2} | {3}), list({(1, 2)})", ([1, 2, 3], [(1, 2)])),
        ("found = isinstance({1} | {2}, set), isinstance(frozenset('a'), frozenset)", (True, True)),
        ("found = str({'a'}), str({*()}), repr(frozenset({2}))", ("{'a'}", "set()", "frozenset({2})")),
    ],
)
def test_what_asks_for_no_order_or_for_one_made_of_numbers_is_answered(text: str, found: object) -> None:
    assert result(text) == found
