"""Right programs with small random damage: whatever then computes something else is rejected.

In short form here; with NKI_ANVIL_ENDURANCE=1 on every seed and many more.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from cheats.perturbing import damaged
from court import Court
from seed_on_simulator import NAMES, Seed

from nki_anvil.lab import limits
from nki_anvil.lab.yardstick import Yardstick
from nki_anvil.sim.execution import Executable, ExecutionError
from nki_anvil.sim.program import Program
from nki_anvil.sim.rules import check

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ENDURANCE = bool(os.environ.get("NKI_ANVIL_ENDURANCE"))
PROBLEMS = NAMES if ENDURANCE else ["softmax", "rmsnorm", "add_rmsnorm_matmul"]
TRIES = 200 if ENDURANCE else 12
ROUNDING = 64 * 2.0**-24
"""Differences below it are another order of rounding, not another result."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    inputs: list[Array]
    yardstick: Yardstick
    own: bool
    right: Array
    """What the undamaged program computes."""


@pytest.mark.parametrize("problem", PROBLEMS)
async def test_a_damaged_program_that_computes_something_else_is_rejected(problem: str, court: Court) -> None:
    pool = await court.pool(problem)
    arguments = court.opened[problem].shape_sets["default"].inputs
    program = Seed(problem).program([_argument(spec) for spec in arguments])
    kept = await pool.draw(court.random(problem))
    executable = Executable(program)
    cases: list[Case] = []
    for one in kept:
        inputs = list((await pool.arrays(one)).values())
        own = one.case.family == "own" and not one.case.probes
        cases.append(Case(inputs, await pool.yardstick(one.case), own, executable.run(inputs).outputs[0]))
    random = np.random.default_rng(7)
    found = [damage for damage in (damaged(program, random) for _ in range(TRIES)) if damage is not None]
    fates = [(what, _fate(changed, cases)) for what, changed in found]
    survivors = [what for what, fate in fates if fate == "survived"]
    wrong = sum(fate != "equal" for _, fate in fates)
    print(f"{problem}: {wrong - len(survivors)} of {wrong} rejected; survivors: {', '.join(survivors) or 'none'}")  # noqa: T201
    assert wrong >= TRIES // 4
    assert len(survivors) <= 0.02 * wrong, survivors


def _argument(spec: Any) -> Any:
    return np.zeros(spec.shape, np.float32) if spec.shape is not None else spec.value


def _fate(program: Program, cases: Sequence[Case]) -> str:
    """``equal`` where it still computes the same, else whether it is rejected."""
    if any(finding.severity == "error" for finding in check(program)):
        return "rejected"
    fate = "equal"
    try:
        executable = Executable(program)
        for case in cases:
            outcome = executable.run(case.inputs)
            [output] = outcome.outputs
            if outcome.written or output.shape != case.right.shape:
                return "rejected"
            if limits.compare(case.yardstick.outputs[0], output, 2e-5, case.own)[0].share > 1:
                return "rejected"
            if _differs(output, case.right):
                fate = "survived"
    except ExecutionError:
        return "rejected"
    return fate


def _differs(output: Array, right: Array) -> bool:
    largest = np.abs(right).max(axis=-1, keepdims=True)
    return bool((np.abs(output - right) > ROUNDING * np.abs(right) + 2.0**-24 * largest).any())
