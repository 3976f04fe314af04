"""Numbers and states as a person says them."""

from __future__ import annotations

from collections.abc import Sequence

from nki_anvil.lab.results import GuardView

SHORT = 12
"""Characters of a digest that a person sees; 8 are enough to name it."""

OTHER_RULES = "Best has no verdict of today's simulator, SDK and gates"


def short(digest: str) -> str:
    return digest[:SHORT]


def times(speedup: float | None) -> str:
    """``1.320x``, or a dash."""
    return "-" if speedup is None else f"{speedup:.3f}x"


def microseconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g} us"


def percent(value: float | None, of: str) -> str:
    """``, 41 % of peak``, or nothing."""
    return "" if value is None else f", {value:.3g} % of {of}"


def interval(low: float | None, high: float | None) -> str:
    """`` [1.20x, 1.40x]``, or nothing where there is none."""
    return "" if low is None or high is None else f" [{times(low)}, {times(high)}]"


def count(number: int, noun: str) -> str:
    """``1 attempt``, ``2 attempts``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def stands_in(fallen: Sequence[int]) -> str:
    """Why the baseline is another than it was; empty where it is not."""
    if not fallen:
        return ""
    who = "Attempt" if len(fallen) == 1 else "Attempts"
    numbers, have = ", ".join(map(str, fallen)), "has" if len(fallen) == 1 else "have"
    return f"{who} {numbers}, kept before, {have} failed since: the baseline is the oldest that was kept and passes"


def sentence(*parts: str) -> str:
    """The parts that say something, as sentences in a row."""
    return " ".join(part.rstrip(". ") + "." for part in parts if part)


def guarded(guard: GuardView, steps: list[str]) -> list[str]:
    """The steps, or, while the guard is closed, the one step that opens it."""
    if guard.state == "open":
        return steps
    return [f"{guard.asks}. The guard is closed until it is written."]
