"""The scripted optimizer: plays an assistant by fixed rules over a real MCP client, and sees only what tools return.

Each turn it profiles, ranks the steps that apply to the text in the working file, takes the best one it has not tried,
and lets the server judge it. With memory it also asks about each step before it chooses, passes on what it was shown,
and writes down what it learnt. It measures nothing itself.
"""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from optimizer.edits import EDITS, applicable

Call = Callable[..., Awaitable[dict[str, Any]]]
"""``call(tool, **arguments)``: the structured result of a tool, or an exception where it refuses."""

SAYS = {edit.name: edit.says for edit in EDITS}
FILLERS = {*"a an and as at by each every for from in instead into is it not of on one or so that the to".split()}  # noqa: SIM905
FITS = 0.3
"""Share of a step's words that a text has to share before it is taken to speak of it."""
PROVEN = 3.0
"""Weight of advice that was tried, over a gap's, which only names a symptom; untried advice weighs as much as a gap."""


def terms(text: str) -> set[str]:
    """The words of a text, without fillers and endings."""
    found = re.findall(r"[a-z0-9]+", text.lower())
    return {re.sub(r"(?:ing|es|ed|s)$", "", word) for word in found if word not in FILLERS and len(word) > 2}


def speaks_of(text: str, step: str) -> float:
    """How much of a step's wording a text shares, 0 to 1; less than ``FITS`` counts as nothing."""
    wanted = terms(SAYS[step])
    share = len(wanted & terms(text)) / len(wanted)
    return share if share >= FITS else 0.0


@dataclass(frozen=True)
class Turn:
    """One attempt: what was tried, what came of it, and the advice that was followed."""

    seed: str
    step: str
    outcome: str
    """``keep``, ``revert``, ``undecided``, ``unchanged`` (the same instructions), or the gate at which it failed."""
    speedup: float | None
    best_us: float
    """After the attempt, as the server says."""
    followed: str | None = None
    """The experience that spoke most clearly of the step."""
    origin: str | None = None
    """Where that experience says that it was learnt."""


@dataclass
class Optimizer:
    """One player; ``order`` decides between steps that nothing speaks for."""

    call: Call
    workspace: Path
    order: random.Random
    remembers: bool = True
    turns: list[Turn] = field(default_factory=list)
    baselines: dict[str, float] = field(default_factory=dict)

    async def play(self, seed: str, *, patience: int = 100) -> None:
        """Work on one seed until no step is left, or for ``patience`` attempts."""
        opened = await self.call("open_problem", reference=f"seed:{seed}")
        file = anyio.Path(self.workspace / opened["kernel_path"])
        status = await self.call("problem_status", problem=seed)
        self.baselines.setdefault(seed, status["baseline"]["latency_us"])
        best_us, tried = status["best"]["latency_us"], set[str]()
        for _ in range(patience):
            turn = await self._turn(seed, file, tried, best_us)
            if turn is None:
                break
            self.turns.append(turn)
            best_us = turn.best_us
        await self.call("finish_problem", problem=seed)

    async def _turn(self, seed: str, file: anyio.Path, tried: set[str], best_us: float) -> Turn | None:
        steps = {name: text for name, text in applicable(await file.read_text()).items() if name not in tried}
        if not steps:
            return None
        profile = await self.call("profile_kernel", problem=seed)
        advice = {step: await self._ask(seed, step) for step in sorted(steps)}
        step = self._choose(advice, profile)
        followed = _clearest(step, advice[step]["experiences"])
        tried.add(step)
        await file.write_text(steps[step])
        told = {"plan": SAYS[step]} | ({"shown_id": advice[step]["shown_id"]} if followed else {})
        outcome, speedup, attempt, new_us = await self._judge(seed, told)
        if outcome != "keep":
            await self.call("revert_to_best", problem=seed)
        if self.remembers:
            await self._learn(seed, step, outcome, attempt)
        named = (followed["experience"], followed["source"]) if followed else (None, None)
        return Turn(seed, step, outcome, speedup, new_us or best_us, *named)

    async def _ask(self, seed: str, step: str) -> dict[str, Any]:
        """What memory says of a step on this problem; nothing without memory."""
        if not self.remembers:
            return {"experiences": [], "shown_id": None}
        return await self.call("query_memory", problem=seed, text=SAYS[step])

    def _choose(self, advice: dict[str, dict[str, Any]], profile: dict[str, Any]) -> str:
        """The step that gaps and advice speak for most; pitfalls speak against."""
        steps = list(advice)
        self.order.shuffle(steps)
        return max(steps, key=lambda step: _for_gaps(step, profile) + _for_advice(step, advice[step]["experiences"]))

    async def _judge(self, seed: str, told: dict[str, Any]) -> tuple[str, float | None, int, float | None]:
        verdict = await self.call("verify_kernel", problem=seed, **told)
        if not verdict["passed"]:
            failed = next(gate["name"] for gate in verdict["gates"] if gate["passed"] is False)
            await self._reflect(seed, verdict["attempt"], told["plan"], f"it failed at {failed}")
            return failed, None, verdict["attempt"], None
        result = await self.call("benchmark_kernel", problem=seed, **told)
        if result["outcome"] == "revert":
            await self._reflect(seed, result["attempt"], told["plan"], "it came out slower")
        if result["same_as"] is not None:
            return "unchanged", None, result["attempt"], None
        kept = result["outcome"] == "keep"
        return result["outcome"], result["speedup"], result["attempt"], result["latency_us"] if kept else None

    async def _reflect(self, seed: str, attempt: int, plan: str, lesson: str) -> None:
        await self.call(
            "record_reflexion", problem=seed, attempt=attempt, diagnosis="The profile's costliest gap.", change=plan,
            expected="Faster than best.", expected_speedup=1.1, lesson=lesson, avoid=plan,
        )  # fmt: skip

    async def _learn(self, seed: str, step: str, outcome: str, attempt: int) -> None:
        """A keep is a speedup, a failure or a slower kernel a pitfall; what made no difference teaches nothing."""
        if outcome in ("undecided", "unchanged"):
            return
        kept = outcome == "keep"
        await self.call(
            "add_experience", kind="speedup" if kept else "pitfall", title=SAYS[step][:119],
            when_to_use=f"A kernel where this step applies: {step.replace('_', ' ')}.",
            advice=SAYS[step] if kept else f"Do not: {SAYS[step]} It ended with {outcome}.",
            problem=seed, attempt=attempt,
        )  # fmt: skip


def _for_gaps(step: str, profile: dict[str, Any]) -> float:
    return max((speaks_of(f"{gap['name']} {gap['advice']}", step) for gap in profile["gaps"]), default=0.0)


def _for_advice(step: str, experiences: list[dict[str, Any]]) -> float:
    """Of those that speak of the step, the clearest counts: for it by its record, or against it."""
    told = max(experiences, key=lambda one: speaks_of(_said(one), step), default=None)
    return _weight(told) * speaks_of(_said(told), step) if told else 0.0


def _clearest(step: str, experiences: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The experience that speaks most clearly for a step."""
    helpful = [one for one in experiences if one["kind"] != "pitfall" and speaks_of(_said(one), step)]
    return max(helpful, key=lambda one: speaks_of(_said(one), step), default=None)


def _said(experience: dict[str, Any]) -> str:
    return f"{experience['title']} {experience['advice']}"


def _weight(experience: dict[str, Any]) -> float:
    """Advice by its record: from -3 to 3, 1 while it is untried. A pitfall speaks against what it describes."""
    evidence = experience["evidence"]
    uses = evidence["kept"] + evidence["reverted"] + evidence["wrong"]
    if experience["kind"] == "pitfall":
        return -PROVEN
    return PROVEN * (2 * (evidence["kept"] + 1) / (uses + 2) - 1) if uses else 1.0
