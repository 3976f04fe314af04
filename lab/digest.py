"""What stands for a kernel everywhere: the SHA-256 of its normalised text.

It knows text only; which digests exist is the business of the attempts.
"""

from __future__ import annotations

import ast
import hashlib
from typing import Final

from nki_anvil.backends.worker.again import again

SHORT: Final = 12
"""Hex characters shown: 48 bits, so a million kernels collide with odds below 1 in 500."""

SHORTEST_ACCEPTED: Final = 8


def normalise(text: str) -> str:
    """The text with LF at line ends, without final newlines, and without trailing white space where it means nothing.

    Inside of a text, or after a backslash, it means something: two kernels that differ there are two. Comments stay.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    bare = "\n".join(line.rstrip() for line in plain.split("\n")).rstrip("\n")
    return bare if bare == plain or _alike(bare, plain) else plain


def _alike(one: str, other: str) -> bool:
    """Whether Python reads the same in both, or can read neither."""
    try:
        return _read(one) == _read(other)
    except (RecursionError, MemoryError):
        return False


def _read(text: str) -> str | None:
    try:
        return ast.dump(again(ast.parse, text))
    except (SyntaxError, ValueError):
        return None


def digest(text: str) -> str:
    """64 hex characters."""
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()


def shorten(full: str) -> str:
    """As it is shown."""
    return full[:SHORT]
