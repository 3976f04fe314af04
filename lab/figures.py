"""What an end-to-end command says of itself: latency, throughput, accuracy, the share of NKI, and the score of it all.

The text comes from a process that ran a kernel: it is parsed strictly, and nothing in it decides how it is read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, geometric_mean, median
from typing import Any, Final, cast

from pydantic import Field

from nki_anvil.backends.job import Record

PATTERNS: Final = {
    "latency_ms": r"^[ \t]*Latency: (\S+)[ \t]*$",
    "throughput": r"^[ \t]*Throughput: (\S+)[ \t]*$",
    "accuracy": r"^[ \t]*Accuracy: (\S+)[ \t]*$",
    "nki_flops_share": r"^[ \t]*NKI FLOPs Ratio: (\S+)[ \t]*$",
}
"""Lines of standard output with the figures: those of the MoE kernel contest's driver (aws-neuron/nki-moe, main.py)."""

_WORDS: Final = {"true": 1.0, "passed": 1.0, "false": 0.0, "failed": 0.0}
_LARGEST: Final = 1e12

_JOINED: Final[dict[str, Callable[[list[float]], float]]] = {
    "latency_ms": geometric_mean,
    "throughput": geometric_mean,
    "accuracy": min,
    "nki_flops_share": fmean,
}
"""What several lines of one output come to, e.g. one per prompt: ratios of geometric means are those of the prompts."""


class Unreadable(ValueError):
    """In words, why a command's figures cannot be used."""


class Figures(Record):
    """One run of the command. None: it does not report that."""

    latency_ms: float = Field(gt=0, le=_LARGEST)
    throughput: float | None = Field(default=None, gt=0, le=_LARGEST)
    accuracy: float | None = Field(default=None, ge=0, le=_LARGEST)
    nki_flops_share: float | None = Field(default=None, ge=0, le=1)

    @property
    def latency_us(self) -> float:
        return 1e3 * self.latency_ms


class Score(Record):
    """Accuracy x reduced latency x increased throughput x (1 + share of NKI's FLOPs), against the other arm."""

    score: float
    accuracy: float
    reduced_latency: float
    increased_throughput: float
    nki_flops_share: float
    ratio: float
    """To the other arm's own score, which has both reductions at 1: this decides."""
    ratio_low: float
    ratio_high: float


def costs(one: Figures, other: Figures) -> tuple[float, float]:
    """What stands below the fraction line of either's score, in one unit: the reference is the same for both.

    Only what both report counts, and the share of NKI is 0 where it is not reported. Accuracies have to be positive.
    """
    timed = one.throughput is not None and other.throughput is not None
    judged = one.accuracy is not None and other.accuracy is not None

    def cost(figures: Figures) -> float:
        throughput = (figures.throughput or 1.0) if timed else 1.0
        accuracy = (figures.accuracy or 1.0) if judged else 1.0
        return figures.latency_us / (accuracy * throughput * (1 + (figures.nki_flops_share or 0.0)))

    return cost(one), cost(other)


def score(new: Figures, other: Figures, ratio: tuple[float, float, float]) -> Score:
    """Of one arm with the other as the contest's reference; ``ratio`` with its interval, from all rounds."""
    accuracy = 1.0 if new.accuracy is None else new.accuracy
    latency = other.latency_ms / new.latency_ms
    throughput = new.throughput / other.throughput if new.throughput and other.throughput else 1.0
    share = new.nki_flops_share or 0.0
    return Score(
        score=accuracy * latency * throughput * (1 + share),
        accuracy=accuracy,
        reduced_latency=latency,
        increased_throughput=throughput,
        nki_flops_share=share,
        ratio=ratio[0],
        ratio_low=ratio[1],
        ratio_high=ratio[2],
    )


def middle(runs: Sequence[Figures]) -> Figures:
    """The median of every figure."""

    def of(name: str) -> float | None:
        known = [value for run in runs if (value := getattr(run, name)) is not None]
        return median(known) if known else None

    return Figures.model_validate({name: of(name) for name in PATTERNS})


def read(result: str | None, printed: str, patterns: Mapping[str, str]) -> Figures:
    """From the result file where there is one, else from lines of standard output. Raises Unreadable."""
    found = _from_file(result) if result is not None else _from_lines(printed, patterns)
    if "latency_ms" not in found:
        where = "the result file has no latency_ms" if result is not None else _no_line(patterns)
        raise Unreadable(f"it reports no latency: {where}")
    for name, value in found.items():
        _refuse_nonsense(name, value)
    return Figures(**found)


def _no_line(patterns: Mapping[str, str]) -> str:
    return f"it left no result file, and no line of its standard output matches {patterns['latency_ms']!r}"


def _from_file(text: str) -> dict[str, float]:
    try:
        said: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"its result file is not JSON: {error}") from error
    if not isinstance(said, dict):
        raise Unreadable("its result file holds no JSON object")
    table = cast("dict[str, Any]", said)
    return {name: _number(name, table[name]) for name in PATTERNS if table.get(name) is not None}


def _from_lines(printed: str, patterns: Mapping[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, pattern in patterns.items():
        values = [_number(name, match[1]) for match in re.finditer(pattern, printed, re.MULTILINE)]
        for value in values:
            _refuse_nonsense(name, value)
        if values:
            found[name] = _JOINED[name](values) if len(values) > 1 else values[0]
    return found


def _number(name: str, said: Any) -> float:
    """A number, or for the accuracy also a word."""
    word = str(said).strip().lower()
    if name == "accuracy" and word in _WORDS:
        return _WORDS[word]
    try:
        return float(word)
    except ValueError:
        raise Unreadable(f"its {name} is no number: {str(said)[:80]!r}") from None


def _refuse_nonsense(name: str, value: float) -> None:
    positive = name in ("latency_ms", "throughput")
    most = 1.0 if name == "nki_flops_share" else _LARGEST
    if not math.isfinite(value) or value < 0 or value > most or (positive and value == 0):
        raise Unreadable(f"its {name} makes no sense: {value:g}")
