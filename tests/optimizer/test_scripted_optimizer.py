"""The whole loop, unattended, by a player with fixed rules over a real client: short here, over all seeds and for
hundreds of attempts with NKI_ANVIL_ENDURANCE=1."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from optimizer.edits import EDITS, applicable
from optimizer.playing import speaks_of
from optimizer.trials import both, connected, costs, transferred
from seed_on_simulator import NAMES, PROBLEMS
from served import call

pytestmark = pytest.mark.anyio

ENDURANCE = bool(os.environ.get("NKI_ANVIL_ENDURANCE"))
SEEDS = NAMES if ENDURANCE else ["layernorm", "rmsnorm"]
LEARNT = 0 if ENDURANCE else 1
"""Seeds at the beginning on which nothing is compared: there is no lesson yet, and in short form only these teach."""


def test_every_step_applies_to_some_seed_and_every_seed_has_good_and_bad_steps():
    found = {seed: applicable((PROBLEMS / seed / "kernel.py").read_text()) for seed in NAMES}
    assert {name for steps in found.values() for name in steps} == {edit.name for edit in EDITS}
    assert all(len(steps) >= 5 for steps in found.values())


def test_a_step_is_recognised_in_other_words_and_not_in_foreign_ones():
    advice = "Evaluate the sigmoid with the hardware's own activation, not as an exponential and a slow reciprocal."
    assert speaks_of(advice, "native_sigmoid")
    assert not speaks_of("Rotate over PSUM banks so that matmuls do not wait.", "native_sigmoid")


@pytest.mark.slow
async def test_a_search_with_memory_needs_fewer_attempts_and_lessons_pass_from_seed_to_seed(tmp_path: Path):
    without, with_memory = await both(tmp_path, SEEDS, spared=LEARNT)
    found = costs(without, with_memory, SEEDS[LEARNT:])
    report = [(one.seed, one.without, one.with_memory) for one in found]
    assert sum(one.with_memory for one in found) < sum(one.without for one in found), report
    assert all(turn.followed is None for turn in without.turns)
    assert len(without.turns + with_memory.turns) >= (150 if ENDURANCE else 15)

    used = transferred(with_memory)
    assert used, "a lesson of one seed was kept on another"
    async with connected(tmp_path / "with") as client:
        for turn in used:
            status = await call(client, "problem_status", problem=turn.seed)
            assert status["best"]["latency_us"] < with_memory.baselines[turn.seed]
            lesson = (await client.read_resource(f"anvil://experiences/{turn.followed}")).contents[0]
            evidence = json.loads(lesson.text)["evidence"]  # type: ignore[union-attr]
            assert evidence["kept"] >= 2, "where it was learnt, and where it was used"
