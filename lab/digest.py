"""What stands for a kernel everywhere: the SHA-256 of its normalised text.

It knows text only; which digests exist is the business of the attempts.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from nki_anvil.sim.again import again

SHORT: Final = 12
"""Hex characters shown: 48 bits, so a million kernels collide with odds below 1 in 500."""

SHORTEST_ACCEPTED: Final = 8

LONGEST_READ: Final = 1 << 17
"""Characters."""


def normalise(text: str) -> str:
    """The text with LF at line ends, without final newlines, and without trailing white space where it means nothing.

    Inside of a text, or after a backslash, it means something: two kernels that differ there are two. Comments stay.
    One that ends after a backslash, which Python reads or not by the newlines that follow, stays as it is.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if plain.endswith("\\") and not _alike(plain, text):
        return text
    bare = "\n".join(line.rstrip() for line in plain.split("\n")).rstrip("\n")
    return bare if bare == plain or _alike(bare, plain) else plain


def _alike(bare: str, plain: str) -> bool:
    """Whether nothing was cut off that stands in a text or after a backslash; or Python can read neither.

    A text of a length that nobody writes is not read: that could take seconds.
    """
    if len(plain) > LONGEST_READ:
        return False
    try:
        tree, other = _tree(bare), _tree(plain)
    except (RecursionError, MemoryError):
        return False
    if tree is None or other is None:
        return tree is other
    lines = enumerate(zip(bare.split("\n"), plain.split("\n"), strict=False), 1)
    cut = {number for number, (less, more) in lines if less != more}
    return cut.isdisjoint(_spanned(tree))


def _spanned(tree: ast.Module) -> Iterator[int]:
    """The lines whose end stands in a text."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            yield from range(node.lineno, node.end_lineno or node.lineno)


def _tree(text: str) -> ast.Module | None:
    try:
        return again(ast.parse, text)
    except (SyntaxError, ValueError):
        return None


@lru_cache(maxsize=32)
def digest(text: str) -> str:
    """64 hex characters."""
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()


def shorten(full: str) -> str:
    """As it is shown."""
    return full[:SHORT]
