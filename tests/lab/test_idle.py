"""What a verdict says of choices that no case needs, at any shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy_backend import KERNEL, NumpyBackend
from small_softmax import small_softmax

from nki_anvil.backends.run import Choice, Run
from nki_anvil.backends.worker.leaning import LEANING
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.verification import verify

pytestmark = pytest.mark.anyio
TEXT = "nisa.tensor_scalar(dst=t, data=t, op0=nl.maximum, operand0=0.5)"
OPENED: list[tuple[Specification, Pool]] = []


def softmax(x: Any) -> Any:
    w = np.exp(x - x.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def choice(**changes: Any) -> Choice:
    told: dict[str, Any] = {
        "line": 7,
        "text": TEXT,
        "op": "maximum",
        "against": 0.5,
        "way": 1,
        "met": True,
        "outputs": (0,),
    }
    told.update(taken=True, tried=True)
    told.update(changes)
    return Choice(**told)


async def judged(data: Path, *choices: Choice, leant: Any = None) -> Verdict:
    """Of a right kernel with these choices; ``leant`` is what a case's outputs are made of that went one way."""
    if not OPENED:
        specification = await small_softmax(data)
        OPENED.append((specification, Pool(specification, data)))
    specification, pool = OPENED[0]

    def told(run: Run) -> Run:
        first = run.cases[0]
        key, outputs = first.key + f"{LEANING}0.1", first.outputs if leant is None else (leant(first.outputs[0]),)
        more = [first.model_copy(update={"key": key, "outputs": outputs})]
        kept = [one.model_copy(update={"keys": (key,)}) if one.tried else one for one in choices]
        traces = tuple(trace.model_copy(update={"choices": tuple(kept)}) for trace in run.traces)
        return run.model_copy(update={"traces": traces, "cases": (*run.cases, *more)})

    random = np.random.default_rng(5)
    backend = NumpyBackend(softmax, told)
    return (await verify(specification, KERNEL, "0" * 64, backend=backend, pool=pool, random=random)).verdict


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.mark.parametrize(
    ("told", "begins"),
    [
        (choice(taken=False), "In no case 0.5 is the larger in line 7 (nisa.tensor_scalar"),
        (choice(taken=False, way=2), "In no case the first operand is the larger in line 7"),
        (choice(taken=False, against=None), "In no case the second operand is the larger in line 7"),
        (choice(taken=False, against=None, standing=True), "In no case what no input reaches is the larger"),
        (choice(taken=False, op="relu", against=0.0), "In no case zero is the larger"),
        (choice(taken=False, op="minimum"), "In no case 0.5 is the smaller"),
        (choice(taken=False, op="abs", against=None), "In no case abs is given a number below zero"),
        (choice(taken=False, op="less"), "In no case less with 0.5 is false"),
        (choice(taken=False, op="less", way=2, against=None), "In no case less is true"),
        (choice(), "That 0.5 is the larger in line 7 (nisa.tensor_scalar"),
        (choice(outputs=(0, 1), needed=(1,)), "That 0.5 is the larger in line 7 (nisa.tensor_scalar"),
        (choice(way=3), "That the limit of maximum in line 7 (nisa.tensor_scalar"),
        (choice(part="in its first turn"), "That 0.5 is the larger in line 7 (nisa.tensor_scalar"),
    ],
)
async def test_what_no_case_needs_is_told_with_its_line(told: Choice, begins: str, data: Path) -> None:
    verdict = await judged(data, told)
    assert verdict.passed
    (said,) = verdict.unjudged
    assert said.startswith(begins)
    assert said.endswith("or let get_inputs draw rows that need it.")
    assert said in verdict.warnings


@pytest.mark.parametrize(
    "told",
    [
        choice(needed=(0,)), choice(tried=False), choice(met=False, taken=False),
    ],
    ids=["needed", "untried", "unmet"],
)  # fmt: skip
async def test_what_is_needed_or_could_not_be_tried_is_not(told: Choice, data: Path) -> None:
    assert (await judged(data, told)).unjudged == ()


async def test_a_case_that_would_be_wrong_needs_the_choice(data: Path) -> None:
    assert (await judged(data, choice(), leant=lambda y: y * 1.01)).unjudged == ()


async def test_a_limit_that_the_reference_names_may_be_that_one(data: Path) -> None:
    await judged(data)
    specification, pool = OPENED[0]
    OPENED[0] = (specification.model_copy(update={"numbers": (0.5,)}), pool)
    assert (await judged(data, choice(way=3))).unjudged == ()
    OPENED[0] = (specification, pool)


async def test_a_choice_that_some_shape_needs_is_not_told_of_another(data: Path) -> None:
    assert (await judged(data, choice(taken=False), choice(needed=(0,)))).unjudged == ()


async def test_one_line_is_told_once_whatever_the_numbers_are(data: Path) -> None:
    found = await judged(data, *(choice(taken=False, op="equal", against=float(one)) for one in range(5)))
    assert len(found.unjudged) == 1
