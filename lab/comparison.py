"""The record of one benchmark: both arms' raw samples, what was decided from them, and all it takes to decide again.

It must not know how the samples were taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Final, Literal

from pydantic import Field

from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Origin
from nki_anvil.lab import figures
from nki_anvil.lab.decision import Decision, interval
from nki_anvil.lab.figures import Figures, Score
from nki_anvil.lab.plan import Answer, Block, Terms
from nki_anvil.lab.rules import Rules

SPEEDUPS: Final = ("speedup", "speedup_low", "speedup_high")


class Round(Record):
    """One fresh process per arm; values are medians."""

    number: int
    first: Literal["best", "new"]
    seed: int
    best_us: float
    new_us: float
    best_samples_us: tuple[float, ...] = ()
    new_samples_us: tuple[float, ...] = ()
    void: bool = False
    """Held up by something else, and measured again."""
    block: Block = "plan"
    best_figures: Figures | None = None
    new_figures: Figures | None = None
    """What the arms of an end-to-end problem reported: then scores are compared, and latencies are told beside."""
    best_core: str = ""
    new_core: str = ""
    """Where each arm ran: host and core, as far as the backend says."""

    @property
    def pair(self) -> Answer:
        """As the plan is told of it: arms that ran on different cores say nothing of each other."""
        return self.costs if self.best_core == self.new_core else None

    @property
    def costs(self) -> tuple[float, float]:
        """Of best and new, in a unit of their own: less is better."""
        if self.best_figures is None or self.new_figures is None:
            return self.best_us, self.new_us
        return figures.costs(self.best_figures, self.new_figures)


class Comparison(Record):
    """New against best, at one time, on one backend. ``best_digest`` is None for the first kernel that passed."""

    at: str
    origin: Origin
    backend: str
    toolchain: str
    problem_version: str
    new_digest: str
    best_digest: str | None
    outcome: Literal["keep", "revert", "undecided"]
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    latency_us: float
    best_latency_us: float | None = None
    delta: float = 0.0
    """Smallest speedup worth a keep; the model's resolution when modelled."""
    aa_sd: float = 0.0
    confidence: float = 0.99
    terms: Terms | None = None
    """What the plan went by on a device; None where a model was asked, and for a kernel that was alone."""
    rounds: tuple[Round, ...] = ()
    processes_us: tuple[tuple[float, ...], ...] = ()
    """Samples of each process of a kernel that was alone."""
    flags: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    timer: str = ""
    score: Score | None = None
    """Of an end-to-end problem: what decided. ``speedup`` is that of the latency alone."""
    floor_us: float = 0.0
    implausible_share: float = Rules.implausible_share
    """Of the floor; a latency below it is never kept."""
    same_as: int | None = None
    """The attempt whose benchmark this is, where the instructions are the same."""
    seconds: float = 0.0
    """Device time it took."""

    @property
    def gain(self) -> float | None:
        """What was decided by: the speedup, or the ratio of scores."""
        return self.score.ratio if self.score else self.speedup

    @property
    def alone(self) -> Comparison:
        """What it says of the kernel by itself, where the other one was wrong: a keep stays one, as of the first."""
        compared = dict.fromkeys((*SPEEDUPS, "best_latency_us", "score"))
        return self.model_copy(update={**compared, "outcome": "keep" if self.outcome == "keep" else "undecided"})

    def of_twin(self, digest: str, number: int) -> Comparison:
        """For the kernel with this digest, which has the instructions of attempt ``number``, whose benchmark it is.

        Where that one was kept, nothing is for this one: it is the same kernel again.
        """
        outcome = "undecided" if self.outcome == "keep" else self.outcome
        return self.model_copy(update={"new_digest": digest, "same_as": number, "seconds": 0.0, "outcome": outcome})

    @property
    def valid_rounds(self) -> tuple[Round, ...]:
        return tuple(round_ for round_ in self.rounds if not round_.void)


def told(rounds: Sequence[Round], decision: Decision, confidence: float) -> dict[str, object]:
    """Speedup and score with their intervals, from the rounds that count and what was decided from them."""
    decided = (decision.speedup, decision.speedup_low, decision.speedup_high)
    best = [r.best_figures for r in rounds if r.best_figures]
    new = [r.new_figures for r in rounds if r.new_figures]
    if not (best and new):
        return dict(zip(SPEEDUPS, decided, strict=True))
    logs = [log(r.new_us / r.best_us) for r in rounds]
    score = figures.score(figures.middle(new), figures.middle(best), decided)
    return {**dict(zip(SPEEDUPS, interval(logs, confidence), strict=True)), "score": score}
