"""The laboratory's settings: every threshold of the state machine and the sampling plan, each default argued.

It must not know where values come from; the server fills them from environment, file and command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from nki_anvil.lab.decision import FEWEST_ROUNDS

MOST_ROUNDS: Final = 1000
"""In one look. Each is two processes; nobody waits for more."""


def refuse_looks(rounds: tuple[int, ...]) -> tuple[int, ...]:
    """Raises ValueError for looks that can decide nothing or do not grow."""
    grows = all(before < after for before, after in pairwise(rounds))
    if not (rounds and grows and rounds[0] >= 1 and FEWEST_ROUNDS <= rounds[-1] <= MOST_ROUNDS):
        raise ValueError(
            f"looks have to grow and to end between {FEWEST_ROUNDS} and {MOST_ROUNDS} rounds, as [5, 9, 15] do, "
            f"and {list(rounds)} do not"
        )
    return rounds


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How strict, how patient and how thorough the laboratory is."""

    auto_restore: bool = True
    """Put best back after a revert. A model goes on from the file it sees; a person at the command line does not want
    their file touched, so the command line turns it off."""
    guard_refuses: bool = True
    """Refuse while the guard is closed. The command line turns it off: there the guard advises."""
    failures_before_reflexion: int = 3
    """One failure is luck, two a coincidence; after three the idea behind the attempts is what is wrong."""
    regression_threshold: float = 1.5
    """This much slower than best is a misunderstanding of the hardware, not a miss: think at once."""
    attempts_limit: int | None = 1000
    """Per problem. A day of work is a few hundred; a loop that ran away overnight stops here."""
    device_minutes_limit: float | None = 480.0
    """Per problem, on devices only: a working day of one core. Modelled time costs nothing and is not counted."""
    resolution: float = 0.02
    """Of the model, for the ratio of two versions of a kernel."""
    confidence: float = 0.99
    """Of the interval at each look. Three looks and a confirmation keep false keeps below one in a hundred."""
    minimum_effect: float = 0.005
    """The smallest delta: half a percent is below what differences in alignment do from one day to another."""
    rounds: tuple[int, ...] = (5, 9, 15)
    """Looks. Five rounds tell 5 % nine times out of ten; fifteen processes per arm is what a person waits for."""
    promising_rounds: int = 9
    """One look more, after so many further rounds, for a kernel that looks over 2 % faster and is still undecided: it
    is nearly always a noisy machine. 0: none."""
    confirming_rounds: int = 9
    """After a keep, with fresh inputs and order; this is what protects a search over many candidates."""
    calibration_rounds: int = 25
    """Of the A/A run. A deviation from 9 rounds is off by a quarter as often as not, which calls load noise and hides
    gains; from 25 by a seventh, and it is asked for once a week."""
    calibration_days: float = 7.0
    """After which the A/A run of a host is made again."""
    loaded_factor: float = 2.0
    """Rounds that may be spent, as a multiple of the planned ones, before the machine is called loaded."""
    implausible_share: float = 0.98
    """Of the program's floor: two percent for the error of the floor itself."""
    surprising_speedup: float = 2.0
    """A gain beyond this over a best that is already over half of the bound is verified again, on cases
    that no call has seen."""
    surprising_percent_of_bound: float = 50.0
    converged_percent_of_bound: float = 95.0
    """Beyond this no gain is left that a benchmark could tell."""
    converged_attempts: int = 5
    """So many attempts in a row without a keep, and the next idea is probably not better."""
    beam: int = 6
    """B of AccelOpt."""
    t_pos: float = 1.04
    """AccelOpt: a child this much faster than its parent makes a positive pair."""
    t_neg: float = 1.15
    """AccelOpt: a child this much slower makes a negative pair."""
    pairs: int = 8
    """AccelOpt's TopK: pairs per call, at most half of them positive."""
