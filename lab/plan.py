"""The sampling plan as a conversation: it asks for rounds, is told their latencies, and ends with a ruling.

Whoever measures answers it: a device, a simulation of noise, or the record of an earlier comparison. It must not know
which, nor kernels, backends or clocks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from math import inf, log, nan
from statistics import fmean
from typing import Final, Literal

from nki_anvil.backends.job import Record
from nki_anvil.lab.decision import Decision, Outcome, decide
from nki_anvil.lab.rules import Rules

Block = Literal["plan", "confirm", "screen"]

PROMISING: Final = 1.02
"""An undecided kernel that looks this much faster is worth one look more."""


class Terms(Record):
    """All that a ruling depends on besides the latencies; stored with every comparison."""

    delta: float
    aa_sd: float = 0.0
    biased: bool = False
    """The same kernel in both arms differed from itself: nothing is kept."""
    confidence: float = 0.99
    rounds: tuple[int, ...] = Rules.rounds
    confirming_rounds: int = Rules.confirming_rounds
    promising_rounds: int = Rules.promising_rounds
    loaded_factor: float = Rules.loaded_factor
    confirm: bool = True
    """Whether a keep is confirmed here; not where a fresh, confirmed comparison follows by itself."""


@dataclass(frozen=True)
class Ask:
    """One more round, please: the ``number``-th of ``planned``, counting only those that are not void."""

    block: Block
    number: int
    planned: int


@dataclass(frozen=True)
class Ruling:
    """What the plan came to. ``void`` are indices among all rounds in the order they were taken."""

    outcome: Outcome
    decision: Decision
    flags: tuple[str, ...]
    void: frozenset[int]


Pair = tuple[float, float]
"""Latencies of best and new in one round."""

Answer = Pair | None
"""None: a round whose arms ran on different cores; it is void, whatever they took."""

Plan = Generator[Ask, Answer, Ruling]

NOTHING: Final = Decision("undecided", 1.0, 0.0, inf, 0)
"""What no round at all says."""


@dataclass
class Taken:
    """The rounds so far."""

    pairs: list[Pair] = field(default_factory=list[Pair])
    blocks: list[Block] = field(default_factory=list[Block])
    void: set[int] = field(default_factory=set[int])

    @property
    def valid(self) -> list[int]:
        return [i for i in range(len(self.pairs)) if i not in self.void]

    def note(self, answer: Answer, block: Block) -> None:
        if answer is None:
            self.void.add(len(self.pairs))
        self.pairs.append(answer or (nan, nan))
        self.blocks.append(block)

    def decide(self, terms: Terms, *, final: bool = False) -> Decision:
        valid = self.valid
        if not valid:
            return NOTHING
        best, new = [self.pairs[i][0] for i in valid], [self.pairs[i][1] for i in valid]
        return decide(best, new, delta=terms.delta, aa_sd=terms.aa_sd, confidence=terms.confidence, final=final)

    def speedup_of(self, block: Block) -> float:
        """Mean ln(best / new) of one block's own rounds; 0 where all are void."""
        logs = [log(self.pairs[i][0] / self.pairs[i][1]) for i in self.valid if self.blocks[i] == block]
        return fmean(logs) if logs else 0.0


def compare(terms: Terms) -> Plan:
    """Looks after 5, 9 and 15 rounds while undecided; a keep is confirmed by nine more with inputs and order new.

    It is confirmed if all rounds together are still a keep and the new ones alone are faster.
    """
    taken = Taken()
    decision, loaded = yield from _plan(taken, terms)
    outcome = decision.outcome
    flags = ["loaded"] if loaded else []
    if outcome == "keep" and terms.biased:
        return Ruling("undecided", decision, (*flags, "biased_rig"), frozenset(taken.void))
    if outcome == "keep" and terms.confirm:
        planned = len(taken.valid) + terms.confirming_rounds
        most = max(planned, terms.rounds[-1] + terms.confirming_rounds)
        decision, loaded = yield from look(taken, terms, planned, most, "confirm")
        faster = taken.speedup_of("confirm") > 0
        outcome = "keep" if faster and decision.outcome == "keep" else "undecided"
        flags = ["loaded"] if loaded else []
    return Ruling(outcome, decision, tuple(flags), frozenset(taken.void))


def _plan(taken: Taken, terms: Terms) -> Generator[Ask, Answer, tuple[Decision, bool]]:
    last = terms.rounds[-1]
    decision, loaded = yield from look(taken, terms, terms.rounds[0], last, "plan")
    for planned in terms.rounds[1:]:
        if decision.outcome != "undecided" or loaded:
            break
        decision, loaded = yield from look(taken, terms, planned, last, "plan")
    if decision.outcome == "undecided" and not loaded and decision.speedup > PROMISING:
        planned = last + terms.promising_rounds
        decision, loaded = yield from look(taken, terms, planned, planned, "plan")
    return decision, loaded


def look(
    taken: Taken, terms: Terms, planned: int, most: int, block: Block
) -> Generator[Ask, Answer, tuple[Decision, bool]]:
    """Have ``planned`` valid rounds, repeating void ones, and decide.

    Returns the decision and whether the machine is loaded: after ``loaded_factor`` times the ``most`` rounds that are
    planned in all, some were still void.
    """
    while True:
        for number in range(len(taken.valid), planned):
            taken.note((yield Ask(block, number + 1, planned)), block)
        decision = taken.decide(terms)
        if not decision.repeat and len(taken.valid) >= planned:
            return decision, False
        if len(taken.pairs) >= int(terms.loaded_factor * most):
            return replace(taken.decide(terms, final=True), outcome="undecided"), True
        valid = taken.valid
        taken.void.update(valid[i] for i in decision.repeat)


class Disagreement(ValueError):
    """Recorded rounds that this plan would not have taken."""


def replay(plan: Plan, rounds: Iterable[tuple[Block, Answer]]) -> Ruling:
    """What the plan makes of recorded rounds. Raises Disagreement where it would have asked for others."""
    recorded = list(rounds)
    ask = next(plan)
    for number, (block, answer) in enumerate(recorded):
        if block != ask.block:
            raise Disagreement(f"round {number} is recorded as {block}, and the plan asks for {ask.block}")
        try:
            ask = plan.send(answer)
        except StopIteration as end:
            if number + 1 < len(recorded):
                raise Disagreement(f"{len(recorded)} rounds are recorded, and {number + 1} decide") from None
            return end.value
    raise Disagreement(f"{len(recorded)} rounds are recorded, and the plan asks for more")
