"""The activation functions against float64, the accumulators against sums, and the range reports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from program_builder import ProgramBuilder

from nki_anvil.sim.execution import Executable
from nki_anvil.sim.execution.errors import ExecutionError, NotSimulated
from nki_anvil.sim.execution.functions import FUNCTIONS, erf, erfc
from nki_anvil.sim.operations import ACCURACY, ACTIVATIONS

X = np.linspace(-9, 9, 4001)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def normal(x: Any) -> Any:
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])


def softplus(x: Any) -> Any:
    return np.logaddexp(x, 0)


REFERENCES: dict[str, Any] = {
    "copy": lambda x: x,
    "square": np.square,
    "sigmoid": sigmoid,
    "relu": lambda x: np.maximum(x, 0),
    "prelu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * normal(x),
    "gelu_dx": lambda x: normal(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "gelu_apprx_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "gelu_apprx_sigmoid_dx": lambda x: sigmoid(1.702 * x) * (1 + 1.702 * x * (1 - sigmoid(1.702 * x))),
    "silu": lambda x: x * sigmoid(x),
    "silu_dx": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "tanh": np.tanh,
    "softplus": softplus,
    "mish": lambda x: x * np.tanh(softplus(x)),
    "erf": lambda x: np.array([math.erf(v) for v in x]),
    "erf_dx": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "arctan": np.arctan,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": np.reciprocal,
    "sign": np.sign,
    "abs": np.abs,
}
SHIFTED = {"log": 0.1, "sqrt": 0.0, "rsqrt": 0.1, "reciprocal": 0.1}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_an_activation_function_agrees_with_float64(name: str) -> None:
    x = X.astype(np.float32)
    given = np.abs(x) + np.float32(SHIFTED[name]) if name in SHIFTED else x
    out = np.empty_like(x)
    FUNCTIONS[name](given, out)
    expected = REFERENCES[name](given.astype(np.float64))
    assert np.max(np.abs(out - expected) / np.maximum(np.abs(expected), 1e-2)) <= ACCURACY[name]


def test_every_activation_function_is_defined() -> None:
    assert set(FUNCTIONS) == ACTIVATIONS == set(ACCURACY)


def test_the_error_functions_hold_their_relative_precision_in_the_tails() -> None:
    x = np.linspace(-5, 26, 997)
    exact = np.array([math.erfc(v) for v in x])
    assert np.max(np.abs(erfc(x) / exact - 1)) < 1e-12
    assert np.max(np.abs(erf(x) - [math.erf(v) for v in x])) < 1e-15


def run(builder: ProgramBuilder, *inputs: Any) -> Any:
    return Executable(builder.program()).run(inputs)


def test_below_zero_prelu_has_a_slope_or_none() -> None:
    b, x = ProgramBuilder(), np.array([[-4, -0.5, 0, 2]], np.float32)
    source, out, tile = b.input(x.shape), b.result(x.shape), b.tensor(x.shape)
    b.emit("dma_copy", tile, source)
    b.emit("activation", tile, None, tile, None, op="prelu")
    b.emit("dma_copy", out, tile)
    program = Executable(b.program())
    assert program.run([x], poison=0).outputs[0].tolist() == [[0, 0, 0, 2]]
    assert program.run([x], poison=1).outputs[0].tolist() == [[-1, -0.125, 0, 2]]


def test_scale_and_bias_come_before_the_function() -> None:
    b, x = ProgramBuilder(), np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    source, out, tile, bias = b.input(x.shape), b.result(x.shape, "bfloat16"), b.tensor(x.shape), b.tensor((5, 1))
    b.emit("dma_copy", tile, source)
    b.emit("memset", bias, value=0.25)
    result = b.tensor(x.shape, "bfloat16")
    b.emit("activation", result, None, tile, bias, op="exp", scale_value=2.0)
    b.emit("dma_copy", out, result)
    expected = np.exp(x * np.float32(2) + np.float32(0.25)).astype(result_type := run(b, x).outputs[0].dtype)
    assert result_type.name == "bfloat16"
    assert (run(b, x).outputs[0] == expected).all()


def test_the_accumulator_lasts_over_instructions_until_it_is_reset() -> None:
    b, x = ProgramBuilder(), np.arange(12, dtype=np.float32).reshape(2, 6)
    source, tile, dropped = b.input(x.shape), b.tensor(x.shape), b.tensor(x.shape)
    first, second = b.tensor((2, 1)), b.tensor((2, 1))
    b.emit("dma_copy", tile, source)
    b.emit("activation", dropped, None, tile, op="copy", reduce_op="add", reduce_cmd="reset_reduce")
    b.emit("activation", dropped, first, tile, op="copy", reduce_op="add", reduce_cmd="reduce")
    b.emit("activation_reduce", dropped, second, tile, op="square", reduce_op="add")
    for column in (first, second):
        b.emit("dma_copy", b.result((2, 1)), column)
    doubled, squares = run(b, x).outputs
    assert doubled[:, 0].tolist() == (2 * x.sum(1)).tolist()
    assert squares[:, 0].tolist() == np.square(x).sum(1).tolist()


def test_accumulators_are_those_of_the_lanes_at_which_a_tile_was_placed() -> None:
    b, x = ProgramBuilder(), np.ones((32, 6), np.float32)
    source = b.input(x.shape)
    low, high = b.tensor(x.shape, address=(0, 0)), b.tensor(x.shape, address=(32, 4096))
    added = b.tensor((32, 1), address=(32, 8192))
    b.emit("dma_copy", low, source)
    b.emit("dma_copy", high, source)
    b.emit("activation", low, None, low, op="copy", reduce_op="add", reduce_cmd="reset_reduce")
    b.emit("activation", high, added, high, op="copy", reduce_op="add", reduce_cmd="reduce")
    b.emit("dma_copy", b.result((32, 1)), added)
    with pytest.raises(ExecutionError, match="SIM-ACCUMULATOR-UNSET"):
        run(b, x)


@pytest.mark.parametrize(("command", "answers"), [("idle", True), ("reduce", True), ("reduce", False)])
@pytest.mark.parametrize("set_before", [(0, 32), (0, 64), None])
def test_accumulators_that_nothing_has_set_are_not_read(
    command: str, answers: bool, set_before: tuple[int, int] | None
) -> None:
    """What another kernel left in the engine's lanes is nothing that this one may know."""
    b, x = ProgramBuilder(), np.ones((64, 6), np.float32)
    source, tile, dropped, lanes = b.input(x.shape), b.tensor(x.shape), b.tensor(x.shape), b.tensor((64, 1))
    b.emit("dma_copy", tile, source)
    if set_before:
        part = slice(*set_before)
        b.emit("activation", dropped[part], None, tile[part], op="copy", reduce_op="add", reduce_cmd="reset")
    b.emit("memset", lanes, value=2.0)
    read = lanes if answers else None
    b.emit("activation", dropped, read, tile, op="copy", reduce_op="add", reduce_cmd=command, line=9)
    b.emit("dma_copy", b.result((64, 1)), lanes)
    executable = Executable(b.program())
    for _ in range(2):
        if set_before == (0, 64):
            assert executable.run([x]).outputs[0][0].item() == ((6 if command == "reduce" else 0) if answers else 2)
            continue
        with pytest.raises(ExecutionError, match=r"line 9: accumulators are read .*SIM-ACCUMULATOR-UNSET"):
            executable.run([x])


def test_an_instruction_that_has_no_value_to_load_loads_none() -> None:
    b, x = ProgramBuilder(), np.ones((64, 6), np.float32)
    source, tile, lanes = b.input(x.shape), b.tensor(x.shape), b.tensor((64, 1))
    b.emit("dma_copy", tile, source)
    b.emit("activation", tile, lanes, tile, op="copy", reduce_op="add", reduce_cmd="load_reduce", line=9)
    b.emit("dma_copy", b.result((64, 1)), lanes)
    with pytest.raises(NotSimulated, match=r"load_reduce, which it has no value for, is not simulated"):
        Executable(b.program()).run([x])


def test_a_destination_of_one_place_does_not_touch_the_sum_nor_the_stages_in_between() -> None:
    b, x = ProgramBuilder(), np.arange(1, 13, dtype=np.float32).reshape(2, 6)
    source, tile, column, lanes = b.input(x.shape), b.tensor(x.shape), b.tensor((2, 1)), b.tensor((2, 1))
    b.emit("dma_copy", tile, source)
    b.emit("activation_reduce", column.ap([(1, 2), (0, 6)]), lanes, tile, op="square", reduce_op="add")
    for one in (lanes, column):
        b.emit("dma_copy", b.result((2, 1)), one)
    sums, last = run(b, x).outputs
    assert sums[:, 0].tolist() == np.square(x).sum(1).tolist()
    assert last[:, 0].tolist() == np.square(x[:, -1]).tolist()


def outside(op: str, *values: float) -> list[tuple[str, int]]:
    b, x = ProgramBuilder(), np.array([values], np.float32)
    source, tile = b.input(x.shape), b.tensor(x.shape)
    b.emit("dma_copy", tile, source)
    b.emit("activation", tile, None, tile, op=op, line=42)
    return [(finding.code, finding.line) for finding in run(b, x).findings]


@pytest.mark.parametrize(
    ("op", "inside", "beyond"),
    [
        ("sin", 3.14, 3.15),
        ("log", 2.0**64, 2.0**65),
        ("sqrt", 0.0, -1.0),
        ("rsqrt", 1.0, 0.0),
        ("arctan", -1.5, -1.6),
        ("reciprocal", -3.0, 0.0),
    ],
)
def test_leaving_the_range_of_a_table_is_reported_with_its_line(op: str, inside: float, beyond: float) -> None:
    assert outside(op, inside, 1.0) == []
    assert outside(op, beyond, 1.0) == [("TRN2-ACT-RANGE", 42)]


def activated(op: str, *values: float) -> list[float]:
    """In place, as kernels do."""
    b, x = ProgramBuilder(), np.array([values], np.float32)
    source, tile = b.input(x.shape), b.tensor(x.shape)
    b.emit("dma_copy", tile, source)
    b.emit("activation", tile, None, tile, op=op)
    b.emit("dma_copy", b.result(x.shape), tile)
    return run(b, x).outputs[0][0].tolist()


def test_a_sine_beyond_half_a_turn_is_what_the_documents_say() -> None:
    beyond, below, inside, end = activated("sin", 9.0, -9.0, 1.0, math.pi)
    assert (beyond, below) == (pytest.approx(27.65, abs=0.01), pytest.approx(-27.65, abs=0.01))
    assert inside == pytest.approx(math.sin(1.0))
    assert end == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("op", "beyond"), [("arctan", 1.6), ("reciprocal", 2.0**43), ("reciprocal", 2.0**-43)])
def test_where_nobody_knows_what_a_table_gives_there_is_no_number(op: str, beyond: float) -> None:
    far, negative, inside = activated(op, beyond, -beyond, 1.5)
    assert np.isnan([far, negative]).all()
    assert inside == pytest.approx(math.atan(1.5) if op == "arctan" else 1 / 1.5)


@pytest.mark.parametrize("op", ["log", "rsqrt"])
def test_a_table_that_ends_before_zero_has_no_infinity_there(op: str) -> None:
    zero, negative, inside = activated(op, 0.0, -0.0, 4.0)
    assert np.isnan([zero, negative]).all()
    assert inside == pytest.approx(REFERENCES[op](4.0))


@pytest.mark.parametrize(("op", "far"), [("exp", 80.0), ("rsqrt", 1e30), ("sqrt", 1e36), ("log", 1e30), ("log", 1e-30)])
def test_where_a_table_ends_beyond_any_guard_the_function_goes_on(op: str, far: float) -> None:
    assert activated(op, far, 1.0)[0] == pytest.approx(REFERENCES[op](np.float64(far)), rel=1e-5)


@pytest.mark.parametrize(
    ("op", "cure"), [("sin", "whole turns"), ("arctan", "pi / 2 less"), ("reciprocal", "nisa.rec")]
)
def test_a_range_that_is_left_is_told_with_what_to_write_instead(op: str, cure: str) -> None:
    b, x = ProgramBuilder(), np.array([[1e20]], np.float32)
    source, tile = b.input(x.shape), b.tensor(x.shape)
    b.emit("dma_copy", tile, source)
    b.emit("activation", tile, None, tile, op=op)
    assert cure in run(b, x).findings[0].remedy


def test_fresh_memory_is_no_reason_to_report_a_range() -> None:
    assert outside("log", float("nan"), 1.0) == []
