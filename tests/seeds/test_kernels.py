"""Every seed kernel, executed on the simulator against its reference in float64."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seed_on_simulator import NAMES, PROBLEMS, VARIANTS, Seed, distance, exact, run

ROW_ERROR = 2e-5
"""Worst row on normal draws: what published harnesses allow over the whole output; honest kernels stay far below."""

HONEST = sorted(path for path in VARIANTS.glob("*/*.py") if path.stem != "wrong")


def drawn(name: str, **dims: int) -> tuple[Any, list[Any]]:
    module = Seed(name).reference("default", **dims)
    return module, module.get_inputs()


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_kernel_matches_its_reference_and_breaks_no_rule(name: str):
    module, inputs = drawn(name)
    ran = run(Seed(name).program(inputs), inputs)
    assert distance(ran.output, exact(module, inputs)) < ROW_ERROR
    assert ran.findings == []
    assert ran.outcome.findings == []
    assert ran.outcome.written == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_kernel_writes_every_element_and_reads_nothing_it_has_not_written(name: str):
    _, inputs = drawn(name)
    program = Seed(name).program(inputs)
    first, second = (run(program, inputs, poison).output for poison in (0, 1))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", NAMES)
def test_two_traces_of_a_seed_kernel_are_the_same_program(name: str):
    _, inputs = drawn(name)
    assert Seed(name).program(inputs).digest() == Seed(name).program(inputs).digest()


@pytest.mark.parametrize("path", HONEST, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_honest_variant_matches_its_seed(path: Path):
    module, inputs = drawn(path.parent.name)
    ran = run(Seed(path.parent.name).program(inputs, path), inputs)
    assert distance(ran.output, exact(module, inputs)) < ROW_ERROR
    assert ran.findings == []


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=6, derandomize=True)
@given(data=st.data())
def test_a_seed_kernel_takes_any_shape(name: str, data: st.DataObject):
    """Partial tiles everywhere: one more than a tile, one less, a single row."""
    sizes = st.sampled_from([1, 2, 31, 64, 127, 128, 129, 200, 256, 511, 513])
    dims = {dim: data.draw(sizes, label=dim) for dim in Seed(name).dims() if dim not in ("B", "H", "D")}
    dims |= {"D": 2 * data.draw(st.integers(1, 64))} if name == "rope" else {}
    module, inputs = drawn(name, **dims)
    ran = run(Seed(name).program(inputs), inputs)
    expected = exact(module, inputs)
    assert distance(ran.output, expected) < max(ROW_ERROR, 16 * distance(in_float32(module, inputs), expected))
    assert ran.findings == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("hardship", ["zero rows", "hundredfold", "rows of all sizes", "integers"])
def test_a_seed_kernel_is_as_good_as_the_reference_in_float32_on_hard_inputs(name: str, hardship: str):
    module, inputs = drawn(name)
    inputs = [harder(value, hardship) if isinstance(value, np.ndarray) else value for value in inputs]
    expected = exact(module, inputs)
    honest = in_float32(module, inputs)
    output = run(Seed(name).program(inputs), inputs).output
    assert np.isfinite(output).all()
    assert distance(output, expected) < 8 * distance(honest, expected) + 1e-6


def in_float32(module: Any, inputs: list[Any]) -> np.ndarray:
    """The reference in the precision of its inputs; an exponential that overflows is a zero further on."""
    with np.errstate(all="ignore"):
        return module.forward(*inputs)


def harder(values: np.ndarray, hardship: str) -> np.ndarray:
    """Inputs on which a careless kernel loses precision, overflows or divides by zero; signs stay as they are."""
    if hardship == "hundredfold":
        return values * np.float32(100)
    if hardship == "integers":
        return np.round(values * 3).astype(np.float32)
    rows = values.reshape(-1, values.shape[-1]).copy()
    if hardship == "zero rows":
        rows[::7] = 0
    else:
        rows *= np.float32(10) ** np.linspace(-6, 2, len(rows), dtype=np.float32)[:, None]
    return rows.reshape(values.shape)


def test_a_wrong_softmax_is_right_on_ordinary_inputs_and_wrong_on_large_ones():
    module, inputs = drawn("softmax")
    wrong = VARIANTS / "softmax" / "wrong.py"
    for scale, right in ((1, True), (100, False)):
        scaled = [inputs[0] * np.float32(scale)]
        output = run(Seed("softmax").program(scaled, wrong), scaled).output
        assert (np.isfinite(output).all() and distance(output, exact(module, scaled)) < ROW_ERROR) == right


def test_a_wrong_rmsnorm_is_right_on_ordinary_inputs_and_wrong_on_zero_rows():
    module, inputs = drawn("rmsnorm")
    wrong = VARIANTS / "rmsnorm" / "wrong.py"
    zeros = [harder(inputs[0], "zero rows"), *inputs[1:]]
    assert distance(run(Seed("rmsnorm").program(inputs, wrong), inputs).output, exact(module, inputs)) < ROW_ERROR
    assert not np.isfinite(run(Seed("rmsnorm").program(zeros, wrong), zeros).output).all()


def test_every_folder_of_variants_belongs_to_a_seed():
    assert {path.parent.name for path in HONEST} <= {path.name for path in PROBLEMS.iterdir()}
