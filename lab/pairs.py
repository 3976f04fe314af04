"""AccelOpt's slow-to-fast rule: which pairs of kernels are worth a lesson."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from nki_anvil.lab.results import ExperienceCandidate
from nki_anvil.lab.rules import Rules


@dataclass(frozen=True)
class Child:
    """A correct kernel that was made from a parent by a plan."""

    digest: str
    attempt: int
    parent: str
    plan: str | None
    speedup: float
    """Over its parent."""


def worth_a_lesson(children: Iterable[Child], rules: Rules) -> tuple[ExperienceCandidate, ...]:
    """At most one pair per parent and plan, the clearest first, at most half of them positive.

    A child without a plan is a plan of its own.
    """
    groups: dict[tuple[str, str], list[Child]] = defaultdict(list)
    for child in children:
        groups[child.parent, child.plan or child.digest].append(child)
    found = [pair for group in groups.values() if (pair := _pair(group, rules))]
    found.sort(key=lambda pair: -pair.speedup)
    positive = [pair for pair in found if pair.kind == "positive"][: rules.pairs // 2]
    negative = [pair for pair in found if pair.kind == "negative"][: rules.pairs - len(positive)]
    return (*positive, *negative)


def _pair(group: list[Child], rules: Rules) -> ExperienceCandidate | None:
    """The fastest child if it is clearly faster than the parent, else the slowest if it is clearly slower."""
    fastest = max(group, key=lambda child: child.speedup)
    if fastest.speedup > rules.t_pos:
        return _candidate(fastest, slow=fastest.parent, fast=fastest.digest)
    slowest = min(group, key=lambda child: child.speedup)
    if slowest.speedup < 1 / rules.t_neg:
        return _candidate(slowest, slow=slowest.digest, fast=slowest.parent)
    return None


def _candidate(child: Child, *, slow: str, fast: str) -> ExperienceCandidate:
    positive = fast == child.digest
    return ExperienceCandidate(
        kind="positive" if positive else "negative",
        slow_digest=slow,
        fast_digest=fast,
        attempt=child.attempt,
        parent=child.parent,
        plan=child.plan,
        speedup=child.speedup if positive else 1 / child.speedup,
    )
