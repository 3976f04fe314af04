"""Carrying out the sampling plan on a backend: which arm runs when, on which inputs, and what is written down of it.

How many rounds there are and what they mean is the plan's; who becomes best is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import TypeVar

from anyio.to_thread import run_sync
from numpy.random import Generator as Random

from nki_anvil.backends.backend import Backend, Report, silent
from nki_anvil.lab import drawn_work, flags, plan
from nki_anvil.lab.comparison import Comparison, Round, told
from nki_anvil.lab.decision import decide_modelled
from nki_anvil.lab.end_to_end import Which
from nki_anvil.lab.plan import Answer, Ask, Ruling, Terms
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.timing import Arm, Timed, time_arm

T = TypeVar("T")


@dataclass(frozen=True)
class Noise:
    """What the A/A run of this machine said."""

    delta: float
    aa_sd: float = 0.0
    biased: bool = False


@dataclass
class Rounds:
    """The rounds of one comparison in the order they were taken, and what they cost."""

    taken: list[Round] = field(default_factory=list[Round])
    seconds: float = 0.0
    floor_us: float = 0.0
    environment: dict[str, str] = field(default_factory=dict[str, str])
    timer: str = ""

    def marked(self, void: frozenset[int]) -> tuple[Round, ...]:
        """All of them, with those that the plan made void."""
        return tuple(r.model_copy(update={"void": i in void}) for i, r in enumerate(self.taken))

    def note(self, timed: Timed, *, new: bool) -> None:
        self.seconds += timed.seconds
        self.environment, self.timer = {**self.environment, **timed.environment}, timed.timer
        if new:
            self.floor_us = timed.floor_us


@dataclass
class Held:
    """What all processes of a call share: the core, as far as the backend says."""

    core: str = ""


def free(_seconds: float) -> None:
    """What costs nothing."""


@dataclass(frozen=True)
class Sampler:
    """Compares kernels on one backend under one specification."""

    backend: Backend
    specification: Specification
    rules: Rules
    random: Random
    clock: Callable[[], datetime]
    noise: Noise
    report: Report = silent
    spend: Callable[[float], None] = free
    """Told of the device seconds of every process, A/A runs and screens too, as soon as it has ended."""
    modelled: dict[str, Timed] = field(default_factory=dict[str, Timed])
    """What the model said in this call; it says the same again."""
    held: Held = field(default_factory=Held)

    async def alone(self, arm: Arm) -> Comparison:
        """The latency of the first kernel that passed: it is compared with nothing, and kept."""
        count = 1 if self.backend.origin == "modelled" else self.rules.rounds[0]
        timed = [await self._run(arm, number, "only", self._seed()) for number in range(count)]
        us = sorted(one.us for one in timed)[len(timed) // 2]
        return self._comparison(
            arm,
            None,
            outcome="keep",
            latency_us=us,
            processes_us=tuple(one.samples_us or (one.us,) for one in timed),
            environment=timed[-1].environment,
            timer=timed[-1].timer,
            floor_us=timed[-1].floor_us,
            seconds=sum(one.seconds for one in timed),
            flags=drawn_work.told(timed[-1].samples_us) if self.backend.origin == "modelled" else (),
        )

    async def compare(self, new: Arm, best: Arm, *, confirm: bool = True) -> Comparison:
        """The full plan, with the confirmation of a keep unless one follows by itself."""
        if self.backend.origin == "modelled":
            return await self._compare_modelled(new, best)
        rounds, terms = Rounds(), self.terms(confirm=confirm)
        ruling = await self.follow(plan.compare(terms), rounds, new, best)
        return self._judged(new, best, rounds, ruling, terms)

    def terms(self, *, confirm: bool = True) -> Terms:
        """This machine's noise and these rules."""
        return Terms(
            delta=self.noise.delta,
            aa_sd=self.noise.aa_sd,
            biased=self.noise.biased,
            confidence=self.rules.confidence,
            rounds=self.rules.rounds,
            confirming_rounds=self.rules.confirming_rounds,
            promising_rounds=self.rules.promising_rounds,
            loaded_factor=self.rules.loaded_factor,
            confirm=confirm,
        )

    async def follow(self, asking: Generator[Ask, Answer, T], rounds: Rounds, new: Arm, best: Arm) -> T:
        """Take the rounds that a plan asks for until it has come to an end; what that is."""
        try:
            ask = next(asking)
            while True:
                await self.report(f"round {ask.number} of {ask.planned}")
                taken = await self._round(rounds, new, best, ask.block)
                ask = asking.send(taken.pair)
        except StopIteration as end:
            return end.value

    async def once(self, arm: Arm) -> Timed:
        """One fresh process: roughly how fast, and where."""
        return await self._run(arm, 0, "only", self._seed())

    async def screen(self, new: Arm, best: Arm) -> float:
        """A rough speedup from a single paired round, to choose whom to compare in full."""
        rounds = Rounds()
        only = await self._round(rounds, new, best, "screen")
        cost_of_best, cost = only.costs
        return cost_of_best / cost

    async def _compare_modelled(self, new: Arm, best: Arm) -> Comparison:
        rounds = Rounds()
        only = await self._round(rounds, new, best, "plan")
        decision = decide_modelled(only.best_us, only.new_us, self.rules.resolution)
        return self._judged(new, best, rounds, Ruling(decision.outcome, decision, (), frozenset()), None)

    async def _round(self, rounds: Rounds, new: Arm, best: Arm, block: plan.Block) -> Round:
        """One fresh process per arm with the same inputs; the order is drawn for the first round, then flipped."""
        number, seed = len(rounds.taken), self._seed()
        new_first = rounds.taken[-1].first == "best" if rounds.taken else bool(self.random.integers(2))
        if new_first:
            timed_new = await self._run(new, number, "new", seed)
            timed_best = await self._run(best, number, "best", seed)
        else:
            timed_best = await self._run(best, number, "best", seed)
            timed_new = await self._run(new, number, "new", seed)
        rounds.note(timed_best, new=False)
        rounds.note(timed_new, new=True)
        taken = Round(
            number=number,
            first="new" if new_first else "best",
            seed=seed,
            best_us=timed_best.us,
            new_us=timed_new.us,
            best_samples_us=timed_best.samples_us,
            new_samples_us=timed_new.samples_us,
            best_figures=timed_best.figures,
            new_figures=timed_new.figures,
            best_core=timed_best.core,
            new_core=timed_new.core,
            block=block,
        )
        rounds.taken.append(taken)
        return taken

    async def _run(self, arm: Arm, number: int, which: Which, seed: int) -> Timed:
        if self.backend.origin == "modelled":
            return await self._modelled(arm, number, which)
        core = self.held.core
        timed = await time_arm(self.backend, self.specification, arm, seed=seed, number=number, which=which, core=core)
        self.held.core = timed.environment.get("core", "")
        await run_sync(self.spend, timed.seconds)
        return timed

    async def _modelled(self, arm: Arm, number: int, which: Which) -> Timed:
        """What the model says of a kernel, once in a call: at the same draws of the inputs as of every other kernel."""
        if arm.digest not in self.modelled:
            self.modelled[arm.digest] = await drawn_work.over_draws(
                self.specification,
                lambda seed: time_arm(self.backend, self.specification, arm, seed=seed, number=number, which=which),
            )
        return self.modelled[arm.digest]

    def _seed(self) -> int:
        """Another draw of the inputs for every round; on the model the first of those at which it costs kernels."""
        if self.backend.origin == "modelled":
            return drawn_work.seeds(self.specification)[0]
        return int(self.random.integers(2**31))

    def _judged(self, new: Arm, best: Arm, rounds: Rounds, ruling: Ruling, terms: Terms | None) -> Comparison:
        marked = rounds.marked(ruling.void)
        valid = [r for r in marked if not r.void] or marked
        modelled = drawn_work.told(marked[-1].new_samples_us)
        known = flags.of(marked, rounds.environment, ruling, terms) if terms else modelled
        return self._comparison(
            new,
            best,
            outcome=ruling.outcome,
            **told(valid, ruling.decision, self.rules.confidence),
            latency_us=median([r.new_us for r in valid]),
            best_latency_us=median([r.best_us for r in valid]),
            rounds=marked,
            terms=terms,
            flags=known,
            environment=rounds.environment,
            timer=rounds.timer,
            floor_us=rounds.floor_us,
            seconds=rounds.seconds,
        )

    def _comparison(self, new: Arm, best: Arm | None, **facts: object) -> Comparison:
        modelled = self.backend.origin == "modelled"
        common: dict[str, object] = {
            "at": self.clock().isoformat(),
            "origin": self.backend.origin,
            "backend": self.backend.name,
            "toolchain": self.backend.toolchain,
            "problem_version": self.specification.version,
            "new_digest": new.digest,
            "best_digest": best.digest if best else None,
            "delta": self.rules.resolution if modelled else self.noise.delta,
            "aa_sd": self.noise.aa_sd,
            "confidence": self.rules.confidence,
            "implausible_share": self.rules.implausible_share,
            "speedup": None,
            "speedup_low": None,
            "speedup_high": None,
        }
        return Comparison.model_validate({**common, **facts})
