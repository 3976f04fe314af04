"""AccelOpt's beam search over real kernels and a real server: killed in the middle of an iteration, and resumed.

With NKI_ANVIL_ENDURANCE=1 the published parameters, three iterations over two seeds; else the same in small.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from optimizer.edits import EDITS, applicable
from optimizer.trials import connected
from seed_on_simulator import PROBLEMS
from served import call

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ENDURANCE = bool(os.environ.get("NKI_ANVIL_ENDURANCE"))


@dataclass(frozen=True)
class Search:
    """B kernels, N plans for each, K kernels for each plan, so many iterations."""

    beam: int
    plans: int
    samples: int
    iterations: int
    seeds: tuple[str, ...]


SEARCH = Search(6, 12, 2, 3, ("rmsnorm", "bmm_softmax")) if ENDURANCE else Search(2, 3, 2, 2, ("rmsnorm",))


def variants(text: str, plans: int, samples: int, chance: random.Random) -> Iterator[tuple[str, str]]:
    """``plans`` plans with ``samples`` different kernels for each: one or two steps, or the same text annotated."""
    steps = applicable(text)
    names = sorted(steps)
    chance.shuffle(names)
    for plan in range(plans):
        name = names[plan % len(names)]
        others = [after for after in applicable(steps[name]).values() if after != steps[name]]
        chance.shuffle(others)
        for sample in range(samples):
            body = steps[name] if sample == 0 or not others else others[(plan + sample) % len(others)]
            yield f"plan {plan}: {name}", f"{body}\n# {plan}.{sample}\n"


def iteration(workspace: Path, seed: str, beam: list[dict[str, Any]], round_: int) -> list[dict[str, str]]:
    """B x N x K candidates from the kernels of the beam."""
    kernels: list[dict[str, str]] = []
    for entry in itertools.islice(itertools.cycle(beam), SEARCH.beam) if round_ else beam:
        chance = random.Random(f"{seed} {round_} {len(kernels)}")
        text = kernel_of(workspace, seed, entry["attempt"])
        for plan, source in variants(text, SEARCH.plans, SEARCH.samples, chance):
            marked = f"{source}# {round_} {len(kernels)}\n"
            kernels.append({"kernel": marked, "parent": entry["digest"], "plan": plan})
    return kernels


def kernel_of(workspace: Path, seed: str, attempt: int) -> str:
    return (workspace / ".nki-anvil" / "problems" / seed / "attempts" / f"{attempt:04d}" / "kernel.py").read_text()


def verified(said: list[str]) -> int:
    """How far the progress got. Not every candidate is told of: what comes within half a second is told once."""
    return max((int(one.split()[1]) for one in said if one.startswith("verified ")), default=0)


def verdicts(workspace: Path, seed: str) -> dict[Path, bytes]:
    attempts = workspace / ".nki-anvil" / "problems" / seed / "attempts"
    return {path: path.read_bytes() for path in attempts.glob("*/verdict.json")}


async def killed(workspace: Path, seed: str, kernels: list[Any], after: int) -> None:
    """Start a server, let it judge ``after`` candidates, and end it without a word."""
    said: list[str] = []
    with anyio.CancelScope() as scope:
        async with connected(workspace, NKI_ANVIL_BEAM=str(SEARCH.beam)) as client:

            async def heard(progress: float, total: float | None, message: str | None) -> None:
                said.append(message or "")
                if verified(said) >= after:
                    scope.cancel()

            arguments = {"problem": seed, "kernels": kernels}
            await client.call_tool("evaluate_candidates", arguments, progress_callback=heard)
    assert scope.cancelled_caught
    assert not any(one.startswith("measured") for one in said), "it was ended in the middle"


@pytest.mark.parametrize("seed", SEARCH.seeds)
async def test_a_beam_search_survives_a_kill_and_never_loses_best_nor_holds_a_program_twice(tmp_path: Path, seed: str):
    assert (PROBLEMS / seed).is_dir()
    assert len(EDITS) >= SEARCH.plans
    async with connected(tmp_path) as client:
        opened = await call(client, "open_problem", reference=f"seed:{seed}")
    beam: list[dict[str, Any]] = [{"attempt": 0, "digest": opened["baseline"]["digest"]}]
    best_us = opened["baseline"]["latency_us"]
    for round_ in range(SEARCH.iterations):
        kernels = iteration(tmp_path, seed, beam, round_)
        expected = SEARCH.plans * SEARCH.samples * (SEARCH.beam if round_ else 1)
        assert len(kernels) == expected
        before: dict[Path, bytes] = {}
        if round_ == 1:
            known = len(verdicts(tmp_path, seed))
            await killed(tmp_path, seed, kernels, after=len(kernels) // 2)
            before = verdicts(tmp_path, seed)
            assert len(before) > known, "some were judged before the kill"
        async with connected(tmp_path, NKI_ANVIL_BEAM=str(SEARCH.beam)) as client:
            said: list[str] = []

            async def heard(progress: float, total: float | None, message: str | None) -> None:
                said.append(message or "")  # noqa: B023 - used in this round only

            arguments = {"problem": seed, "kernels": kernels, "limit": 50}
            answer = await client.call_tool("evaluate_candidates", arguments, progress_callback=heard)
            assert not answer.is_error, answer.content
            found = answer.structured_content
            assert found is not None
            status = await call(client, "problem_status", problem=seed)
            if status["guard"]["state"] == "closed":
                await call(
                    client, "record_reflexion", problem=seed, attempt=status["guard"]["attempt"],
                    diagnosis="d", change="c", expected="e", lesson="l",
                )  # fmt: skip
        assert found["counts"]["candidates"] == expected
        assert 0 < verified(said) <= expected, "progress is counted in candidates"
        now = verdicts(tmp_path, seed)
        assert all(now[path] == verdict for path, verdict in before.items()), "what was judged before the kill stands"
        beam = found["beam"]
        assert len(beam) <= SEARCH.beam
        assert beam[0]["attempt"] == status["best"]["attempt"], "best leads the beam"
        assert status["best"]["latency_us"] <= best_us, "best is never lost"
        best_us = status["best"]["latency_us"]
        programs = {program_of(tmp_path, seed, entry["attempt"]) for entry in beam}
        assert len(programs) == len(beam), "no program twice"
        assert all(pair["speedup"] > 1 for pair in found["experience_candidates"])
        assert len(found["experience_candidates"]) <= 8
    assert best_us < opened["baseline"]["latency_us"]


def program_of(workspace: Path, seed: str, attempt: int) -> str:
    """The instruction digest of an attempt, from its record."""
    folder = workspace / ".nki-anvil" / "problems" / seed / "attempts" / f"{attempt:04d}"
    verdicts = json.loads((folder / "verdict.json").read_text())["verdicts"]
    return str(verdicts[-1]["instruction_digest"])
