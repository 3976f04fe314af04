"""How often each rule keeps a kernel that is not faster, and how often it finds one that is, under simulated noise.

The rule that is tried is the shipped plan itself; what it answers to is drawn by the noisy backend's own noise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from rich.table import Table

from nki_anvil.backends.noisy import Noise, factors
from nki_anvil.lab.decision import scatter
from nki_anvil.lab.plan import Ruling, Terms, compare
from nki_anvil.lab.rules import Rules

COMPARISONS = 2000
LOADED_COMPARISONS = 2000
SESSIONS = 200
ATTEMPTS = 40
CALLS = 1000
CANDIDATES = 144
MOST_ROUNDS = 96
"""More than any comparison takes."""

FALSE_KEEPS = 0.01
POWER = 0.95
CLAIM = 0.005
LOADS = (0.03, 0.04, 0.05, 0.06, 0.08, 0.12, 0.2)
RULES = Rules()


@dataclass(frozen=True)
class Tried:
    kept: bool
    processes: int
    speedup: float = 1.0


Rule = Callable[[np.random.Generator, Noise, float], Tried]
"""One comparison of a kernel that is truly so many times as fast as best."""


def latencies(random: np.random.Generator, noise: Noise, speedup: float) -> list[list[float]]:
    """(best, new) per round: medians of the timed runs."""
    arms = np.median(factors(noise, random, MOST_ROUNDS), axis=2)
    arms[:, 1] /= speedup
    return arms.tolist()


def terms(random: np.random.Generator, noise: Noise, *, confirm: bool = True) -> Terms:
    """After an A/A run on this machine, which is quiet at that time."""
    arms = np.log(np.median(factors(replace(noise, load=0.0), random, RULES.calibration_rounds), axis=2))
    aa_sd = scatter((arms[:, 1] - arms[:, 0]).tolist())
    delta = max(RULES.minimum_effect, 2 * aa_sd / RULES.calibration_rounds**0.5)
    return Terms(delta=delta, aa_sd=aa_sd, confirm=confirm)


def ruling(found: Terms, rounds: list[list[float]]) -> tuple[Ruling, int]:
    """What the shipped plan says, and how many processes it took."""
    asking = compare(found)
    next(asking)
    for number, (best, new) in enumerate(rounds, 1):
        try:
            asking.send((best, new))
        except StopIteration as end:
            return end.value, 2 * number
    raise AssertionError(f"a comparison took over {MOST_ROUNDS} rounds")


def paired(random: np.random.Generator, noise: Noise, speedup: float) -> Tried:
    """The shipped rule."""
    said, processes = ruling(terms(random, noise), latencies(random, noise, speedup))
    return Tried(said.outcome == "keep", processes, said.decision.speedup)


def stored_best(random: np.random.Generator, noise: Noise, speedup: float) -> Tried:
    """Mean of one process below the mean that best had in an earlier one."""
    best, new = (float(process.mean()) for process in factors(noise, random, 2)[:, 0])
    return Tried(new / speedup < best, 1, best / new * speedup)


def retried(tolerance: float) -> Rule:
    """AccelOpt's: of up to three rounds in one process the one whose runs agree best, against the stored best."""

    def mean(random: np.random.Generator, noise: Noise) -> float:
        runs = factors(replace(noise, iterations=3 * noise.iterations), random, 1)[0, 0].reshape(3, -1)
        spreads = runs.max(axis=1) / runs.min(axis=1) - 1
        enough = next((i + 1 for i, spread in enumerate(spreads) if spread <= tolerance), 3)
        return float(runs[int(spreads[:enough].argmin())].mean())

    def rule(random: np.random.Generator, noise: Noise, speedup: float) -> Tried:
        best, new = mean(random, noise), mean(random, noise)
        return Tried(new / speedup < best, 1, best / new * speedup)

    return rule


RULES_TRIED: dict[str, Rule] = {
    "paired rounds (shipped)": paired,
    "mean below stored best": stored_best,
    "AccelOpt's retries, 1 %": retried(0.01),
    "AccelOpt's retries, 4 %": retried(0.04),
}


def rates(rule: Rule, noise: Noise, speedup: float, count: int, seed: int = 1) -> tuple[float, float]:
    """Share kept and processes per comparison, of ``count`` comparisons."""
    random = np.random.default_rng(seed)
    tried = [rule(random, noise, speedup) for _ in range(count)]
    return sum(one.kept for one in tried) / count, sum(one.processes for one in tried) / count


def claims(count: int, seed: int = 2) -> tuple[list[float], list[float]]:
    """Final speedups that ``count`` sessions of attempts that change nothing would claim: shipped, stored best."""
    random, noise = np.random.default_rng(seed), Noise()
    shipped = [_measured_anew(random, noise) for _ in range(count)]
    means = factors(noise, random, count * (ATTEMPTS + 1))[:, 0].mean(axis=1).reshape(count, -1)
    return shipped, (means[:, 0] / np.minimum.accumulate(means, axis=1)[:, -1]).tolist()


def _measured_anew(random: np.random.Generator, noise: Noise) -> float:
    """The claim is a comparison with the baseline in fresh rounds; without any keep best is the baseline itself."""
    kept = any(paired(random, noise, 1.0).kept for _ in range(ATTEMPTS))
    return paired(random, noise, 1.0).speedup if kept else 1.0


def beam_keeps(random: np.random.Generator, noise: Noise) -> bool:
    """One call with equal candidates: the fastest of their screening rounds are compared, and the winner once more.

    Those rounds decide nothing but who is compared, and among equals it does not matter who that is.
    """
    known = terms(random, noise)
    unconfirmed = known.model_copy(update={"confirm": False})
    first = [ruling(unconfirmed, latencies(random, noise, 1.0))[0] for _ in range(RULES.beam)]
    if not any(one.outcome == "keep" for one in first):
        return False
    return ruling(known, latencies(random, noise, 1.0))[0].outcome == "keep"


def false_beams(count: int, seed: int = 3) -> float:
    random = np.random.default_rng(seed)
    return sum(beam_keeps(random, Noise()) for _ in range(count)) / count


def tables() -> Iterator[Table]:
    yield rules_table()
    yield sizes_table()
    yield load_table()
    yield searches_table()


def rules_table() -> Table:
    """Every rule at the noise that the plan is made for, and at two and three times that."""
    title = f"Decisions: {COMPARISONS} simulated comparisons each"
    table = Table("noise", "rule", "kept at equal speed", "kept at 5 % faster", "processes per comparison", title=title)
    for factor in (1, 2, 3):
        for name, rule in RULES_TRIED.items():
            false, cheap = rates(rule, Noise().times(factor), 1.0, COMPARISONS)
            true, dear = rates(rule, Noise().times(factor), 1.05, COMPARISONS)
            own = factor == 1 and rule is paired
            goals = (goal(false <= FALSE_KEEPS, "<= 1 %"), goal(true >= POWER, ">= 95 %")) if own else ("", "")
            costs = f"{cheap:.1f} (equal), {dear:.1f} (faster)"
            table.add_row(f"x{factor}", name, f"{false:.1%}{goals[0]}", f"{true:.1%}{goals[1]}", costs)
    return table


def sizes_table() -> Table:
    """Where power falls."""
    table = Table("faster by", "x1", "x2", "x3", title="Share kept by the shipped rule, by true gain and noise")
    for gain in (0.01, 0.02, 0.03, 0.05, 0.1):
        row = [f"{rates(paired, Noise().times(k), 1 + gain, 500)[0]:.1%}" for k in (1, 2, 3)]
        table.add_row(f"{gain:.0%}", *row)
    return table


def load_table() -> Table:
    """One arm held up in a random third of the rounds: best's makes false keeps, new's hides gains."""
    title = f"Load on one arm in a random third of the rounds, {LOADED_COMPARISONS} comparisons each"
    table = Table("load", "kept at equal speed, best held up", "kept at 5 % faster, new held up", title=title)
    for load in LOADS:
        false = rates(paired, Noise(load=load), 1.0, LOADED_COMPARISONS)[0]
        true = rates(paired, Noise(load=load, loaded_arm=1), 1.05, LOADED_COMPARISONS)[0]
        reached = (goal(false <= FALSE_KEEPS, "<= 1 %"), goal(true >= POWER, ">= 95 %"))
        table.add_row(f"{load:.0%}", f"{false:.1%}{reached[0]}", f"{true:.1%}{reached[1]}")
    return table


def searches_table() -> Table:
    """What whole sessions come to when nothing that is tried is faster."""
    shipped, stored = claims(SESSIONS)
    table = Table("search without any gain", "shipped rule", "mean below stored best", title="Searches")
    claimed = median(shipped)
    reached = goal(abs(claimed - 1) <= CLAIM, "within 0.5 % of 1")
    table.add_row(f"{ATTEMPTS} attempts: speedup claimed, median", f"{claimed:.4f}{reached}", f"{median(stored):.4f}")
    false = false_beams(CALLS)
    table.add_row(f"{CANDIDATES} candidates in a call: a false keep", f"{false:.1%}{goal(false <= 0.01, '<= 1 %')}", "")
    return table


def goal(reached: bool, wanted: str) -> str:
    return f"  ({wanted})" if reached else f"  ({wanted} missed)"
