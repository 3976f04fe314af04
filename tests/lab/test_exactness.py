"""How far a kernel may be off with every float in float64, and that the gate of values asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy_backend import KERNEL, NumpyBackend
from small_softmax import small_softmax

from nki_anvil.backends.job import Job
from nki_anvil.backends.run import KernelError, Run
from nki_anvil.lab import exact_cases, exactness
from nki_anvil.lab.arithmetic import Arithmetic, computing
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.expected import Expected
from nki_anvil.lab.rough import Rough
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.values import value
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.verification import verify

R = np.random.default_rng(3).uniform(0.5, 2.0, (40, 30))
SPREAD = (R * 2.0**-24).astype(np.float32)


def expected(r: Any = R, **more: Any) -> Expected:
    return Expected(r, SPREAD, rows={}, whole=1e-7, dtype="float32", **more)


@pytest.mark.parametrize(("off", "right"), [(2.0**-50, True), (2.0**-36, True), (2.0**-28, False), (1e-6, False)])
def test_each_element_may_err_a_small_share_of_what_float32_errs(off: float, right: bool) -> None:
    y = R.copy()
    y[7, 9] *= 1 + off
    found = exactness.compare(expected(), y)
    assert (found.share <= 1) == right
    assert found.index == (7, 9) or right


def test_what_cancels_may_err_more_as_it_does_in_float32() -> None:
    spread = SPREAD.copy()
    spread[7, 9] *= 1e6
    y = R.copy()
    y[7, 9] *= 1 + 2.0**-24
    assert exactness.compare(Expected(R, spread, rows={}, whole=1e-7, dtype="float32"), y).share <= 1


def test_what_float64_leaves_of_sums_that_come_to_nothing_is_free() -> None:
    r, spread = R.copy(), SPREAD.copy()
    r[7, 9], spread[7, 9] = 4e-15, 4e-15
    y = r.copy()
    y[7, 9] = -3e-15
    assert exactness.compare(Expected(r, spread, rows={}, whole=1e-7, dtype="float32"), y).share <= 1
    y[7, 9] = 1e-12
    assert exactness.compare(Expected(r, spread, rows={}, whole=1e-7, dtype="float32"), y).share > 1


def test_other_constants_of_the_references_kind_are_forgiven() -> None:
    y = R * (1 + 2.0**-24)
    assert exactness.compare(expected(), y).share > 1
    assert exactness.compare(expected(moved=SPREAD), y).share <= 1


def test_constants_of_the_kernels_own_may_have_few_digits() -> None:
    y, other = R * (1 + 2.0**-25), R * (1 + 2.0**-24)
    assert exactness.compare(expected(), y).share > 1
    assert exactness.compare(expected(), y, [y, other]).share <= 1
    assert exactness.compare(expected(), R * 1.0001, [R * 1.0001 * (1 + 2.0**-24)]).share > 1


def test_a_reference_that_rounds_to_whole_numbers_is_not_asked_in_float64() -> None:
    assert exactness.compare(expected(rounds=True), R + 0.5).share == 0


@pytest.mark.parametrize(
    ("function", "rounds"),
    [(np.rint, True), (lambda x: x.astype(np.int32), True), (np.round, True), (np.floor, True), (np.exp, False)],
)
def test_rounding_to_whole_numbers_is_noticed(function: Callable[[Any], Any], rounds: bool) -> None:
    with computing(Arithmetic(np.float64)) as how:
        function(value(np.ones((2, 3)) * 0.7, how))
        assert how.rounds == rounds


def test_rows_that_float32_gets_roughly_are_judged_as_sharply() -> None:
    lost = R.copy()
    lost[3] = np.nan
    near = np.full_like(R, np.nan)
    near[3] = R[3]
    rough = Rough(near, np.where(np.isfinite(near), 1e-3 * R, 0).astype(np.float32))
    y = R.copy()
    assert exactness.compare(expected(lost, rough=rough), y).share <= 1
    y[3, 5] *= 1 + 1e-4
    found = exactness.compare(expected(lost, rough=rough), y)
    assert (found.share > 1, found.index) == (True, (3, 5))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_no_number_is_wrong_where_the_reference_has_one(wrong: float) -> None:
    y, r = R.copy(), R.copy()
    y[2, 2] = wrong
    assert exactness.compare(expected(), y).share == np.inf
    r[2, 2] = np.nan
    assert exactness.compare(expected(r), y).share <= 1


def test_beyond_what_float32_holds_nobody_is_judged() -> None:
    r = R.copy()
    r[0, 0] = 1e37
    assert exactness.compare(expected(r), R).share <= 1


def test_integers_are_equal_where_no_rounding_decides() -> None:
    r = np.arange(6.0).reshape(2, 3)
    free = np.zeros((2, 3), np.float32)
    free[0, 0] = 1
    whole = Expected(r, free, rows={}, whole=0.0, dtype="int32")
    y = r.astype(np.int32)
    y[0, 0] += 1
    assert exactness.compare(whole, y).share <= 1
    y[1, 1] += 1
    assert exactness.compare(whole, y).share > 1


def test_another_integer_is_told_as_what_float64_made_of_it() -> None:
    r = np.arange(12.0).reshape(3, 4)
    wanted = Expected(r, np.zeros(r.shape, np.float32), rows={}, whole=0.0, dtype="int32", exact=True)
    y = r.copy()
    y[1, 2] -= 1
    found = exactness.compare(wanted, y)
    assert (found.limit, found.index) == (exactness.LIMIT, (1, 2))
    assert 1 < found.share < np.inf


@pytest.mark.parametrize(
    ("constant", "moves"), [(0.1, True), (np.float32(1e-8), True), (0.5, False), (96.0, False), (1e3, False)]
)
def test_constants_that_float32_rounds_move_alike_and_plain_ones_stay(constant: Any, moves: bool) -> None:
    def forward(how: Arithmetic) -> Any:
        with computing(how):
            x = value(np.ones((2, 3)), how)
            return np.asarray(x * constant / constant + x * constant)

    still = Arithmetic(np.float64)
    plain = forward(still)
    moved = forward(Arithmetic(np.float64, rng=np.random.default_rng(1), constants=2.0**-24, consistent=True))
    assert still.has_constants == moves
    np.testing.assert_allclose(np.abs(moved / plain - 1).max() > 1e-8 * float(constant), moves)


def test_numbers_that_the_kernel_is_told_do_not_move() -> None:
    how = Arithmetic(np.float64, rng=np.random.default_rng(1), constants=2.0**-24, told=frozenset({0.1}))
    with computing(how):
        assert (np.asarray(value(np.ones(3), how) * 0.1) == 0.1).all()


# the gate


def softmax(x: Any) -> Any:
    w = np.exp(x - x.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def without_faint_weights(x: Any) -> Any:
    w = np.exp(x - x.max(-1, keepdims=True))
    return w / np.where(w < 1e-9, 0, w).sum(-1, keepdims=True)


OPENED: list[Specification] = []


async def judged(data: Path, exactly: Callable[..., Any] | None, alter: Callable[[Run, Job], Run] | None) -> Verdict:
    """A softmax of 160 x 192 that is right on the chip, and with every float in float64 is what ``exactly`` is."""
    if not OPENED:
        OPENED.append(await small_softmax(data))
    backend = NumpyBackend(softmax, exactly=exactly)
    if alter:
        backend.alter = lambda run: alter(run, backend.jobs[-1])
    pool, random = Pool(OPENED[0], data), np.random.default_rng(5)
    return (await verify(OPENED[0], KERNEL, "0" * 64, backend=backend, pool=pool, random=random)).verdict


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.mark.anyio
async def test_an_honest_kernel_is_right_with_every_float_in_float64(data: Path) -> None:
    verdict = await judged(data, softmax, None)
    assert verdict.passed, verdict.gates
    assert not any("float64" in warning for warning in verdict.warnings)


@pytest.mark.anyio
async def test_what_float32_forgives_is_refused_with_what_it_is(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = await judged(data, without_faint_weights, None)
    assert verdict.failed_gate == "values"
    assert verdict.where
    assert verdict.where.pattern == "approximation"
    assert "float64" in next(gate.detail for gate in verdict.gates if gate.passed is False)
    assert "threshold" in verdict.hint
    monkeypatch.setattr(exact_cases, "marked", lambda specification, cases, origin, full: list(cases))
    assert (await judged(data, without_faint_weights, None)).passed


@pytest.mark.anyio
async def test_outputs_in_float64_that_do_not_come_back_are_a_failure(data: Path) -> None:
    def lost(run: Run, job: Job) -> Run:
        return run.model_copy(update={"cases": tuple(c.model_copy(update={"exact": ()}) for c in run.cases)})

    verdict = await judged(data, softmax, lost)
    assert verdict.failed_gate == "values"
    assert "No outputs in float64 came back" in next(g.detail for g in verdict.gates if g.passed is False)


@pytest.mark.anyio
async def test_what_fails_in_float64_alone_is_refused_with_its_reason(data: Path) -> None:
    error = KernelError(code="SIM-OOB", message="a dynamic index is 7", line=12)

    def failing(run: Run, job: Job) -> Run:
        asked = {case.key for case in job.cases if case.exact}
        failed = {"exact": (), "exact_error": error}
        return run.model_copy(
            update={"cases": tuple(c.model_copy(update=failed) if c.key in asked else c for c in run.cases)}
        )

    verdict = await judged(data, softmax, failing)
    gate = next(gate for gate in verdict.gates if gate.passed is False)
    assert (gate.name, gate.code, gate.line) == ("values", "SIM-OOB", 12)
    assert "a dynamic index is 7" in gate.detail


@pytest.mark.anyio
async def test_a_program_without_a_meaning_in_float64_is_told_of(data: Path) -> None:
    verdict = await judged(data, None, None)
    assert verdict.passed
    assert any("no program" in warning for warning in verdict.warnings)
