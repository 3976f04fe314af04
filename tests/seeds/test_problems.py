"""What the seeds declare: arguments, dimensions, work, and the published benchmark's shapes."""

import ast
import inspect
from typing import Any

import numpy as np
import pytest
from seed_on_simulator import NAMES, PROBLEMS, Seed, exact

from nki_anvil.sim.rules import check
from nki_anvil.sim.tracing import ArraySpec

NKIBENCH = {
    "adamw": {"M": 10944, "N": 2048},
    "add_rmsnorm_matmul": {"M": 4096, "N": 2048, "K": 1024},
    "bmm_softmax": {"B": 16, "K": 64, "M": 4096, "N": 4096},
    "matmul": {"M": 4096, "N": 12288, "K": 5120},
    "matmul_add_rmsnorm": {"M": 4096, "N": 2048, "K": 2048},
    "rmsnorm_matmul": {"M": 4096, "N": 2048, "K": 1024},
    "rope": {"B": 1, "H": 64, "N": 4096, "D": 128},
    "silu": {"M": 4096, "N": 7168},
    "swiglu": {"M": 4096, "N": 3072, "K": 1024},
}
"""The tasks of NKIBench that are among the seeds, with their published shapes."""

SMALL = [name for name in NAMES if name != "matmul"]
"""Traced in a second; matmul is 155,000 instructions at the published shape."""


def declared_shape(entry: dict[str, Any], dims: dict[str, int]) -> tuple[int, ...]:
    return tuple(eval(size, {}, dict(dims)) for size in entry["shape"])


def test_there_are_twelve_seeds():
    assert len(NAMES) == 12


@pytest.mark.parametrize("name", NKIBENCH)
def test_the_shape_set_nkibench_is_the_published_one(name: str):
    assert Seed(name).dims("nkibench") == NKIBENCH[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_declares_the_arguments_that_its_reference_draws(name: str):
    seed = Seed(name)
    module = seed.reference()
    entries = seed.declared["inputs"]
    drawn = module.get_inputs()
    assert list(entries) == list(inspect.signature(module.forward).parameters)
    for entry, value in zip(entries.values(), drawn, strict=True):
        if isinstance(value, np.ndarray):
            assert (declared_shape(entry, seed.dims()), entry["dtype"]) == (value.shape, value.dtype.name)
        else:
            assert (entry["domain"], entry["value"], entry["dtype"]) == ("constant", value, type(value).__name__)


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_names_its_arguments_as_the_reference_does(name: str):
    tree = ast.parse((PROBLEMS / name / "kernel.py").read_text())
    (kernel,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "kernel"]
    assert [argument.arg for argument in kernel.args.args] == list(Seed(name).declared["inputs"])


@pytest.mark.parametrize("name", NAMES)
def test_the_declared_bytes_are_those_of_inputs_and_output(name: str):
    seed = Seed(name)
    module = seed.reference()
    inputs = module.get_inputs()
    moved = sum(value.nbytes for value in inputs if isinstance(value, np.ndarray)) + 4 * exact(module, inputs).size
    assert eval(seed.declared["work"]["bytes"], {}, seed.dims()) == moved


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "matmul" else name for name in NAMES]
)
def test_a_seed_kernel_is_generic_enough_for_the_benchmarks_shapes(name: str):
    seed = Seed(name)
    dims = seed.dims("nkibench")
    arguments = [
        ArraySpec(declared_shape(entry, dims), np.float32) if "shape" in entry else entry["value"]
        for entry in seed.declared["inputs"].values()
    ]
    assert check(seed.program(arguments)) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_reference_computes_in_the_precision_of_its_inputs(name: str):
    module = Seed(name).reference()
    inputs = module.get_inputs()
    assert exact(module, inputs).dtype == np.float64
    assert module.forward(*inputs).dtype == np.float32


@pytest.mark.parametrize("name", NAMES)
def test_sums_of_a_reference_pass_through_array_subclasses(name: str):
    """So that honest runs can sum in another order: ``x.sum`` reaches the subclass, ``np.sum`` does not."""
    seen: list[str] = []

    class Watched(np.ndarray):
        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
            if ufunc is np.matmul or (ufunc is np.add and method == "reduce"):
                seen.append(ufunc.__name__)
            plain = [value.view(np.ndarray) if isinstance(value, Watched) else value for value in inputs]
            return np.asarray(getattr(ufunc, method)(*plain, **options)).view(Watched)

    module = Seed(name).reference()
    inputs = [value.view(Watched) if isinstance(value, np.ndarray) else value for value in module.get_inputs()]
    module.forward(*inputs)
    sums = {"norm": "add", "softmax": "add", "matmul": "matmul", "bmm": "matmul", "swiglu": "matmul"}
    assert set(seen) == {ufunc for word, ufunc in sums.items() if word in name}
