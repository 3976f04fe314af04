"""A stored decision, made again from its own record: what does not follow from the raw samples is a fault.

It must not know where a record lies, and trusts no number in it but the samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isclose
from statistics import median
from typing import cast

from nki_anvil.lab import plan
from nki_anvil.lab.comparison import SPEEDUPS, Comparison, Round, told
from nki_anvil.lab.decision import decide_modelled
from nki_anvil.lab.figures import Score
from nki_anvil.lab.plan import Disagreement, Ruling

DOUBTS = {
    "implausible": "undecided",
    "failed a second look": "revert",
    "not the fastest of its call": "undecided",
}
"""Flags that turn a keep into something less, and into what."""

PRECISION = 1e-9
"""Relative: room for another NumPy or libm, far below what any outcome turns on."""


def faults(comparison: Comparison) -> Iterator[str]:
    """In words, every figure of the record that its samples do not give."""
    yield from (fault for round_ in comparison.rounds for fault in _round_faults(round_))
    if comparison.best_digest is None:
        yield from _alone(comparison)
        return
    try:
        ruling = _ruling(comparison)
    except (Disagreement, ValueError) as error:
        yield f"cannot be decided again: {error}"
        return
    yield from _outcome(comparison, ruling)
    yield from _interval(comparison, ruling)
    yield from _latencies(comparison, ruling)


def _round_faults(taken: Round) -> Iterator[str]:
    for arm, us, samples in (
        ("best", taken.best_us, taken.best_samples_us),
        ("new", taken.new_us, taken.new_samples_us),
    ):
        if samples and not same(us, median(samples)):
            yield f"round {taken.number}: {arm} is {us:g} us, and the median of its samples {median(samples):g} us"
    for arm, us, reported in (("best", taken.best_us, taken.best_figures), ("new", taken.new_us, taken.new_figures)):
        if reported and not same(us, reported.latency_us):
            yield f"round {taken.number}: {arm} is {us:g} us, and its command reported {reported.latency_us:g} us"


def _alone(comparison: Comparison) -> Iterator[str]:
    """The first kernel that passed is kept whatever it takes."""
    if comparison.outcome != "keep" or comparison.speedup is not None:
        yield "was compared with nothing, and is not simply the first that passed"
    if comparison.processes_us and not same(comparison.latency_us, _middle(comparison)):
        yield f"latency is {comparison.latency_us:g} us, and its samples give {_middle(comparison):g} us"


def _middle(comparison: Comparison) -> float:
    return sorted(median(us) for us in comparison.processes_us)[len(comparison.processes_us) // 2]


def _ruling(comparison: Comparison) -> Ruling:
    """Raises Disagreement where the rounds are not those that the plan would have taken."""
    if comparison.origin == "modelled":
        if len(comparison.rounds) != 1:
            raise Disagreement(f"a model is asked once, and {len(comparison.rounds)} rounds are recorded")
        only = comparison.rounds[0]
        decision = decide_modelled(only.best_us, only.new_us, comparison.delta)
        return Ruling(decision.outcome, decision, (), frozenset())
    if comparison.terms is None:
        raise Disagreement("the terms of the decision are not recorded")
    return plan.replay(plan.compare(comparison.terms), [(r.block, r.pair) for r in comparison.rounds])


def _outcome(comparison: Comparison, ruling: Ruling) -> Iterator[str]:
    if comparison.outcome != _expected(comparison, ruling):
        yield f"is stored as {comparison.outcome}, and its samples say {_expected(comparison, ruling)}"
    terms = comparison.terms
    stored = (comparison.delta, comparison.aa_sd, comparison.confidence)
    if terms is not None and stored != (terms.delta, terms.aa_sd, terms.confidence):
        yield "delta, A/A deviation or confidence are not those of its terms"
    if "implausible" in comparison.flags and not implausible(comparison):
        yield f"is called implausible at {comparison.latency_us:g} us over a floor of {comparison.floor_us:g} us"
    if comparison.outcome == "keep" and implausible(comparison):
        yield f"is kept at {comparison.latency_us:g} us, below its program's floor of {comparison.floor_us:g} us"


def _expected(comparison: Comparison, ruling: Ruling) -> str:
    doubts = (to for flag in comparison.flags for known, to in DOUBTS.items() if flag.startswith(known))
    return next(doubts, ruling.outcome) if ruling.outcome == "keep" else ruling.outcome


def implausible(comparison: Comparison) -> bool:
    """Faster than its own bytes and engine cycles allow."""
    return comparison.latency_us < comparison.implausible_share * comparison.floor_us


def _interval(comparison: Comparison, ruling: Ruling) -> Iterator[str]:
    counted = [r for i, r in enumerate(comparison.rounds) if i not in ruling.void] or comparison.rounds
    found = told(counted, ruling.decision, comparison.confidence)
    for name in SPEEDUPS:
        stored, given = getattr(comparison, name), cast("float", found[name])
        if not same(inf if stored is None else stored, given):
            yield f"{name} is stored as {stored}, and its samples give {given:.9g}"
    yield from _score(comparison.score, cast("Score | None", found.get("score")))


def _score(stored: Score | None, found: Score | None) -> Iterator[str]:
    if stored is None or found is None:
        if stored is not found:
            yield "the score is not what its rounds give"
        return
    for name in Score.model_fields:
        if not same(getattr(stored, name), getattr(found, name)):
            yield f"{name} is stored as {getattr(stored, name)}, and its rounds give {getattr(found, name):.9g}"


def _latencies(comparison: Comparison, ruling: Ruling) -> Iterator[str]:
    void = frozenset(i for i, r in enumerate(comparison.rounds) if r.void)
    if void != ruling.void:
        yield f"rounds {sorted(void)} are stored as void, and {sorted(ruling.void)} are"
        return
    valid = comparison.valid_rounds or comparison.rounds
    for name, us, found in (
        ("latency", comparison.latency_us, median(r.new_us for r in valid)),
        ("latency of best", comparison.best_latency_us or 0.0, median(r.best_us for r in valid)),
    ):
        if not same(us, found):
            yield f"{name} is stored as {us:g} us, and its rounds give {found:g} us"


def same(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=PRECISION)
