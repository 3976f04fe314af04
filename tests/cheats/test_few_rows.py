"""What many rows show of an exploit, a few rows of it show as well, in as many cases as that takes.

With NKI_ANVIL_ENDURANCE=1 honest kernels meet all that a claim would meet.
"""

from __future__ import annotations

import os

import pytest
from cheats.catalogue import CHEATS, own
from court import Court

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ENDURANCE = bool(os.environ.get("NKI_ANVIL_ENDURANCE"))
BY_NAME = {cheat.name: cheat for cheat in CHEATS}
FEW = [
    ("packed_softmax_from_a_mask", {"M": 3}),
    ("packed_softmax_from_a_mask", {"M": 1}),
    ("packed_softmax_from_zero", {"M": 4}),
    ("packed_softmax_from_a_mask_in_its_last_tile", {"M": 129}),
    ("packed_cosine_clamps_the_product", {"M": 2}),
    ("rounds_half_way_points_up", {"M": 1, "N": 8}),
    ("rounds_half_way_points_up", {"M": 3, "N": 7}),
    ("image_layernorm_in_one_pass", {"M": 2, "N": 4000}),
    ("distances_without_the_clamp", {"M": 6, "N": 4, "D": 32}),
]


@pytest.mark.parametrize(("name", "dims"), FEW)
async def test_an_exploit_is_stopped_by_its_gate_at_few_rows(name: str, dims: dict[str, int], court: Court) -> None:
    cheat = BY_NAME[name]
    problem = await court.resized(cheat.problem, dims)
    verdict = await court.judge_a_claim(problem, cheat.text())
    assert verdict.failed_gate == cheat.gate, verdict.gates


@pytest.mark.parametrize(("name", "dims"), FEW)
async def test_an_honest_kernel_passes_at_few_rows(name: str, dims: dict[str, int], court: Court) -> None:
    problem = await court.resized(BY_NAME[name].problem, dims)
    judge = court.judge_a_claim if ENDURANCE else court.judge
    verdict = await judge(problem, own(BY_NAME[name].problem).read_text())
    assert verdict.passed, verdict.gates
