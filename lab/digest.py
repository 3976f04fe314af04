"""What stands for a kernel everywhere: the SHA-256 of its normalised text.

It knows text only; which digests exist is the business of the attempts.
"""

from __future__ import annotations

import hashlib
from typing import Final

SHORT: Final = 12
"""Hex characters shown: 48 bits, so a million kernels collide with odds below 1 in 500."""

SHORTEST_ACCEPTED: Final = 8


def normalise(text: str) -> str:
    """The text with CRLF as LF, and without trailing white space of lines and final newlines. Comments stay."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n")


def digest(text: str) -> str:
    """64 hex characters."""
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()


def shorten(full: str) -> str:
    """As it is shown."""
    return full[:SHORT]
