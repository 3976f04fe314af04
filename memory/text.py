"""Text from strangers: made harmless, measured, compared. It must not know what the text is about."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set
from typing import Final

_FILLERS: Final = """
a about after all also an and any are as at be been before but by can do does each every for from has have how if in
into is it its kernel more most must new nki no not of on one only or other our out over per so some such than that the
their them then there these they this to too two up use used very was we when where which while will with you your
fast faster make slow slower why
"""

STOP_WORDS: Final = frozenset(_FILLERS.split())

_WORD: Final = re.compile(r"[a-z0-9]+(?:[._][a-z0-9]+)*")
_CHARACTERS_PER_TOKEN: Final = 3.5
"""English with code in it; on the safe side of the usual four."""


def clean(text: str) -> str:
    """Without control, format and private characters (line breaks and tabs stay), in composed form, ends trimmed."""
    kept = (c for c in text.replace("\r\n", "\n") if c in "\n\t" or unicodedata.category(c)[0] != "C")
    return unicodedata.normalize("NFC", "".join(kept)).strip()


def binary(text: str) -> bool:
    """Whether more than a twentieth of the text is control characters or no characters at all."""
    odd = sum(unicodedata.category(c) in {"Cc", "Cn", "Co", "Cs"} for c in text if c not in "\n\r\t")
    return odd * 20 > len(text)


def capped(text: str, limit: int) -> str:
    """At most ``limit`` characters; a cut is shown."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def quoted(text: str) -> str:
    """The text as a quotation: each line marked, so that it reads as data wherever it is shown."""
    return "\n".join(f"> {line}" for line in text.splitlines())


def words(text: str) -> list[str]:
    """The words in order, in lower case, without those that mean nothing; ``nisa.activation`` is one word and two."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        parts = re.split(r"[._]", word)
        found += [word, *parts] if len(parts) > 1 else parts
    return [word for word in found if word not in STOP_WORDS and len(word) > 1]


def jaccard(first: Set[str], second: Set[str]) -> float:
    """Shared words over all words, 0 to 1."""
    together = len(first | second)
    return len(first & second) / together if together else 0.0


def tokens(text: str) -> int:
    """About how many tokens a model reads."""
    return int(len(text) / _CHARACTERS_PER_TOKEN) + 1
