"""When is a kernel faster: keep, revert or undecided from paired latencies, as pure functions.

It must not know where samples come from, how many more could be had, or what is done with the decision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Final, Literal

Outcome = Literal["keep", "revert", "undecided"]

QUIET_QUANTILE: Final = 0.30
"""What an arm takes while nothing disturbs it: this quantile of its rounds."""

VOID_MARGIN: Final = 0.04
"""A round further above the quiet value is void: over three standard deviations of honest noise between processes."""

VOID_SIGMAS: Final = 4.0
"""The same, on a machine whose A/A run was noisier."""

LIGHT_MARGIN: Final = 0.025
"""Lighter load is told by the other arm: a round this far above the quiet value is void if the ratio to the other arm
is ``ALONE_MARGIN`` above its own quiet value. What slows both arms of a round alike moves no ratio."""

ALONE_MARGIN: Final = 0.03
ALONE_SIGMAS: Final = 3.5

FEWEST_ROUNDS: Final = 5
"""Before more can come. Load in a third of the rounds holds up the same arm in three rounds running once in 27 times,
in five once in 243: fewer rounds agree by accident."""

REVERT_MARGIN: Final = 0.01
"""A gain surely below this is not worth more rounds."""

LARGEST_EXPONENT: Final = 709.0
"""Of e, in a double."""


@dataclass(frozen=True)
class Decision:
    """A three-valued answer, always with its interval. Speedups above 1 mean that the new kernel is faster."""

    outcome: Outcome
    speedup: float
    speedup_low: float
    speedup_high: float
    rounds: int
    """Rounds that are not void, on which the interval rests. 0: every one is, it rests on them all, and is no reason
    to decide anything."""
    repeat: tuple[int, ...] = ()
    """Indices of rounds to void and measure again."""


def decide(
    best_us: Sequence[float],
    new_us: Sequence[float],
    *,
    delta: float,
    aa_sd: float = 0.0,
    confidence: float = 0.99,
    final: bool = False,
) -> Decision:
    """Judge paired latencies (µs) of equal length, one pair per round.

    ``delta`` is the smallest speedup worth a keep, as a fraction; ``aa_sd`` the standard deviation per round of
    ln(new / best) with the same kernel in both arms. Without ``final``, void rounds have to be measured again before
    anything is decided, and fewer than five decide nothing; with it, no more will come and those that there are
    decide. ``undecided`` without ``final`` asks for more rounds.
    Raises ValueError for latencies that are not positive and finite, or not paired, and for terms that make no sense.
    """
    _refuse_nonsense(best_us, new_us)
    _refuse_terms(delta, aa_sd, confidence)
    void = void_rounds(best_us, new_us, aa_sd=aa_sd)
    logs = [math.log(new) - math.log(best) for best, new in zip(best_us, new_us, strict=True)]
    quiet = [log for i, log in enumerate(logs) if i not in void]
    speedup, low, high = interval(quiet or logs, confidence)
    enough = bool(quiet) if final else not void and len(quiet) >= FEWEST_ROUNDS
    outcome = judge(low, high, delta) if enough else "undecided"
    return Decision(outcome, speedup, low, high, len(quiet), tuple(sorted(void)))


def judge(low: float, high: float, delta: float) -> Outcome:
    """What an interval of the speedup says."""
    if low > 1 + delta:
        return "keep"
    return "revert" if high < 1 + max(delta, REVERT_MARGIN) else "undecided"


def void_rounds(best_us: Sequence[float], new_us: Sequence[float], *, aa_sd: float = 0.0) -> frozenset[int]:
    """Rounds in which either arm was held up by something that is not the kernel."""
    return _held_up(best_us, new_us, aa_sd) | _held_up(new_us, best_us, aa_sd)


def _held_up(arm: Sequence[float], other: Sequence[float], aa_sd: float) -> frozenset[int]:
    """Rounds in which ``arm`` took far longer than while quiet, or longer while the other arm did not."""
    ratios = [math.log(us) - math.log(them) for us, them in zip(arm, other, strict=True)]
    quiet = quantile(arm, QUIET_QUANTILE)
    far = quiet * (1 + max(VOID_MARGIN, VOID_SIGMAS * aa_sd))
    longer = quiet * (1 + LIGHT_MARGIN)
    not_both = quantile(ratios, QUIET_QUANTILE) + math.log1p(max(ALONE_MARGIN, ALONE_SIGMAS * aa_sd))
    pairs = enumerate(zip(arm, ratios, strict=True))
    return frozenset(i for i, (us, ratio) in pairs if us > far or (us > longer and ratio > not_both))


def interval(logs: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """Speedup and its interval from ln(new / best) per round; unbounded below two rounds.

    It is Student's t-interval, widened to hold also without the third of the rounds that speaks most for either
    kernel: load too light to void a round makes a gain of a third of them, a faster kernel is faster in nearly all.
    """
    mean = fmean(logs)
    if len(logs) < 2:
        return bounded_exp(-mean), 0.0, math.inf
    quantile = t_quantile((1 + confidence) / 2, len(logs) - 1)
    ordered = sorted(logs)
    most = len(logs) - len(logs) // 3
    low = min(-part - half for part, half in (_mean(ordered, quantile), _mean(ordered[-most:], quantile)))
    high = max(-part + half for part, half in (_mean(ordered, quantile), _mean(ordered[:most], quantile)))
    return bounded_exp(-mean), bounded_exp(low), bounded_exp(high)


def _mean(logs: Sequence[float], quantile: float) -> tuple[float, float]:
    """Mean and half of its interval."""
    return fmean(logs), quantile * scatter(logs) / math.sqrt(len(logs))


def bounded_exp(x: float) -> float:
    """Infinite where a float ends."""
    return math.exp(x) if x < LARGEST_EXPONENT else math.inf


def scatter(values: Sequence[float]) -> float:
    """Standard deviation of a sample; in plain floats, which a simulation of thousands of comparisons needs."""
    mean = fmean(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def quantile(values: Sequence[float], share: float) -> float:
    """By linear interpolation between order statistics."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def decide_modelled(best_us: float, new_us: float, resolution: float) -> Decision:
    """Judge two estimates (µs) of a deterministic model whose ratio is good to ``resolution``, a fraction."""
    _refuse_nonsense([best_us], [new_us])
    speedup = best_us / new_us
    low, high = speedup / (1 + resolution), speedup * (1 + resolution)
    outcome: Outcome = "keep" if low > 1 else "revert" if high < 1 else "undecided"
    return Decision(outcome, speedup, low, high, 1)


def t_cdf(t: float, freedom: int) -> float:
    """Student's distribution function: the finite series for whole degrees of freedom, Abramowitz and Stegun 26.7.3."""
    angle = math.atan2(t, math.sqrt(freedom))
    cos2 = math.cos(angle) ** 2
    odd = freedom % 2
    term, total = 1.0, 1.0
    for k in range(1 + odd, freedom - 2 + odd, 2):
        term *= cos2 * k / (k + 1)
        total += term
    if not odd:
        return 0.5 + 0.5 * math.sin(angle) * total
    series = math.sin(angle) * math.cos(angle) * total if freedom > 1 else 0.0
    return 0.5 + (angle + series) / math.pi


@lru_cache(maxsize=256)
def t_quantile(probability: float, freedom: int) -> float:
    """Where Student's distribution function reaches ``probability``, above one half; bisection to 1e-12 relative."""
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < probability:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, freedom) < probability else (low, middle)
    return high


def _refuse_nonsense(best_us: Sequence[float], new_us: Sequence[float]) -> None:
    if len(best_us) != len(new_us) or not len(best_us):
        raise ValueError(f"latencies must be paired in at least one round, got {len(best_us)} and {len(new_us)}")
    wrong = [us for us in (*best_us, *new_us) if not (math.isfinite(us) and us > 0)]
    if wrong:
        raise ValueError(f"latencies must be positive and finite, got {wrong[0]}")


def _refuse_terms(delta: float, aa_sd: float, confidence: float) -> None:
    if not (0 <= delta < math.inf and 0 <= aa_sd < math.inf):
        raise ValueError(f"delta and aa_sd must be fractions of at least 0, got {delta} and {aa_sd}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
