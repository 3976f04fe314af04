"""Keeping a prompt within its budget: what is long is cut by lines, and says what is missing and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

BYTES_PER_TOKEN: Final = 3.5
"""English with code in it; bytes rather than letters, since other scripts and pictures take several tokens each."""

NOTICE: Final = 120
"""Bytes kept free for the line that says what was cut."""


def tokens(text: str) -> int:
    """About how many tokens a model reads, on the safe side."""
    return int(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN) + 1


@dataclass(frozen=True)
class Part:
    """One filled slot. ``weight`` is its share of the room against others; ``whole`` is where all of it can be read."""

    text: str
    weight: float = 1.0
    newest_last: bool = False
    """The beginning is cut rather than the end."""
    whole: str = ""


def fitted(parts: Mapping[str, Part], budget: int) -> dict[str, str]:
    """The parts' texts in at most ``budget`` tokens together; short ones stay whole, long ones share what is left."""
    room = int((budget - 1) * BYTES_PER_TOKEN)
    sizes = {name: len(part.text.encode("utf-8", "replace")) for name, part in parts.items()}
    waiting, level = dict(parts), 0.0
    while waiting:
        level = max(0.0, room / sum(part.weight for part in waiting.values()))
        short = [name for name, part in waiting.items() if sizes[name] <= level * part.weight]
        if not short:
            break
        for name in short:
            room -= sizes[name]
            del waiting[name]
    return {
        name: _cut(part, int(level * part.weight)) if name in waiting else part.text for name, part in parts.items()
    }


def _cut(part: Part, size: int) -> str:
    """As many whole lines as fit ``size`` bytes beside the notice; of a single long line as much as fits."""
    lines = part.text.splitlines()
    ordered = lines[::-1] if part.newest_last else lines
    left, kept = size - NOTICE, list[str]()
    for line in ordered:
        left -= len(line.encode("utf-8", "replace")) + 1
        if left < 0:
            break
        kept.append(line)
    if not kept and lines:
        kept = [ordered[0].encode("utf-8", "replace")[: max(0, size - NOTICE)].decode("utf-8", "ignore")]
    where = f": {part.whole}" if part.whole else ""
    notice = f"(cut: {len(lines) - len(kept)} of {len(lines)} lines{where})"[:NOTICE]
    shown = [notice, *kept[::-1]] if part.newest_last else [*kept, notice]
    return "\n".join(shown)
