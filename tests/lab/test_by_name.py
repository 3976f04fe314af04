"""A kernel is the same one however its tensors are given."""

from __future__ import annotations

import ast

import pytest

from nki_anvil.lab.by_name import complaints


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def kernel(x, w): pass", ""),
        ("def kernel(left, right): pass", ""),
        ("def kernel(x, w, tile=128): pass", ""),
        ("def kernel(*given): pass", ""),
        ("def kernel(x, w, *, tile=128): pass", ""),
        ("def helper(**named): pass\ndef kernel(x, w): pass", ""),
        ("def kernel(x, **named): pass", "any name"),
        ("def kernel(*given, x=None): pass", "any name"),
        ("def kernel(given=None, x=None): pass", "input 0 of the problem and parameter 1"),
        ("def kernel(w, x): pass", "`x` is input 0"),
        ("def inner(w, x): pass\nkernel = jit(inner)", "`x` is input 0"),
        ("@jit\ndef inner(w, x): pass", "`x` is input 0"),
    ],
)
def test_a_kernel_takes_the_inputs_it_names_in_their_order(text: str, said: str) -> None:
    found = [message for _, message in complaints(ast.parse(text).body, "kernel", ["x", "w"])]
    assert bool(found) is bool(said)
    assert all(said in message for message in found[:1])
