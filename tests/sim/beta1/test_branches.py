"""What a Beta 1 kernel chooses by the index of a loop stays in the arm that knows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.sim.errors import TraceError

X = np.arange(4 * 128 * 64, dtype=np.float32).reshape(4, 128, 64) / 4096
LOOPS = ["affine_range", "sequential_range"]


def refused(kernel: Any) -> TraceError:
    with pytest.raises(TraceError) as caught:
        kernel(X)
    return caught.value


@pytest.mark.parametrize("loop", LOOPS)
def test_a_tile_that_an_arm_binds_is_not_used_behind_it(beta1: Any, loop: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in getattr(nl, loop)(4):
            if i < 2:
                tile = nl.load(x[i])
            else:
                tile = nl.load(x[3 - i])
                tile = nl.multiply(tile, 2.0)
            nl.store(out[i], tile)
        return out

    error = refused(kernel)
    assert error.code == "NKI-SCOPE"
    assert "`tile`" in error.message
    assert "t[...] = value" in error.remedy


def test_a_tile_from_before_the_arms_is_assigned_to_in_them(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in range(4):
            tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
            if i < 2:
                factor = 1.0
                tile[...] = nl.multiply(nl.load(x[i]), factor)
            else:
                factor = 2.0
                tile[...] = nl.multiply(nl.load(x[i]), factor)
            nl.store(out[i], tile)
        return out

    np.testing.assert_allclose(kernel(X), X * np.array([1, 1, 2, 2], np.float32)[:, None, None], rtol=1e-6)


def test_a_number_that_the_index_of_a_loop_chooses_is_not_used_behind_the_arms(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in range(4):
            factor = 1.0
            if i % 2 == 0:
                factor = 2.0
            nl.store(out[i], nl.multiply(nl.load(x[i]), factor))
        return out

    error = refused(kernel)
    assert error.code == "NKI-SCOPE"
    assert "static_range" in error.remedy


def test_a_number_that_is_used_in_the_next_turn_is_used_behind_the_arms(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        factor = 1.0
        for i in nl.sequential_range(4):
            nl.store(out[i], nl.multiply(nl.load(x[i]), factor))
            if i == 1:
                factor = 2.0
        return out

    assert refused(kernel).code == "NKI-SCOPE"


def test_an_expression_does_not_choose_by_the_index_of_a_loop(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            nl.store(out[i], nl.multiply(nl.load(x[i]), 1.0 if i == 0 else 2.0))
        return out

    error = refused(kernel)
    assert error.code == "NKI-CONTROL"
    assert "compiler sees once" in error.message


WAYS = [
    "2.0 if i else 1.0",
    "1.0 if not i else 2.0",
    "2.0 if i - 1 else 1.0",
    "2.0 if (\n\n            i\n        ) else 1.0",
    "(i and 2.0) or 1.0",
    "[2.0 if i == 0 else 1.0 for _ in range(1)][0]",
    "[[2.0 if i else 1.0 for _ in range(1)] for _ in range(1)][0][0]",
    "1.0 + (not i)",
    "1.0 + len([1 for _ in range(1) if i == 0])",
    "1.0 + len([1 for _ in range(1) if i])",
    "(lambda: 2.0 if i else 1.0)()",
]


def written(body: str, path: Path) -> Any:
    """A kernel whose loop over ``i`` has these lines, of a file as those of users are."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    path.write_text(f"""
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
{lines}
    return out
""")
    names: dict[str, Any] = {"__file__": str(path), "__name__": "written"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["kernel"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("beta1")
def test_an_expression_does_not_choose_by_the_truth_of_an_index_either(way: str, tmp_path: Path):
    kernel = written(f"nl.store(out[i], nl.multiply(nl.load(x[i]), {way}))", tmp_path / "kernel.py")
    assert refused(kernel).code == "NKI-CONTROL"


@pytest.mark.parametrize("test", ["i", "not i", "i - 1", "i and x.shape[0] == 4"])
@pytest.mark.usefixtures("beta1")
def test_an_arm_binds_nothing_for_behind_it_by_the_truth_of_an_index_either(test: str, tmp_path: Path):
    body = f"factor = 1.0\nif {test}:\n    factor = 2.0\nnl.store(out[i], nl.multiply(nl.load(x[i]), factor))"
    assert refused(written(body, tmp_path / "kernel.py")).code == "NKI-SCOPE"


@pytest.mark.parametrize("test", ["i", "not i", "x.shape[0] == 4 and not i", "i or x.shape[0] == 4"])
@pytest.mark.usefixtures("beta1")
def test_an_arm_that_binds_nothing_may_ask_for_the_truth_of_an_index(test: str, tmp_path: Path):
    body = f"if {test}:\n    nl.store(out[i], nl.load(x[i]))\nelse:\n    nl.store(out[i], nl.load(x[i]))"
    np.testing.assert_allclose(written(body, tmp_path / "kernel.py")(X), X, rtol=1e-6)


@pytest.mark.parametrize("doubled", [False, True])
def test_what_is_known_before_chooses_tiles_and_shared_memory_as_public_kernels_do(beta1: Any, doubled: bool):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x, doubled):
        if x.shape[0] == 4:
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.static_range(4):
            tile = nl.load(x[i])
            if doubled and i > 1:
                tile = nl.multiply(tile, 2.0)
            nl.store(out[i], tile)  # pyright: ignore[reportPossiblyUnboundVariable]
        return out  # pyright: ignore[reportPossiblyUnboundVariable]

    factors = np.array([1, 1, 2, 2] if doubled else [1, 1, 1, 1], np.float32)
    np.testing.assert_allclose(kernel(X, doubled), X * factors[:, None, None], rtol=1e-6)


def test_a_name_may_mean_something_else_behind_the_arms_and_in_the_other_one(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            if i < 1:
                tile = nl.load(x[i])
                nl.store(out[i], tile)
            elif i < 2:
                tile = nl.multiply(nl.load(x[i]), 2.0)
                nl.store(out[i], tile)
            else:
                for tile in [nl.load(x[i])]:
                    nl.store(out[i], tile)
        tile = nl.load(x[3])
        nl.store(out[3], tile)
        return out

    np.testing.assert_allclose(kernel(X), X * np.array([1, 2, 1, 1], np.float32)[:, None, None], rtol=1e-6)


def test_a_programs_number_chooses_what_it_works_on(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        me = nl.program_id(0)
        if me == 0:
            tile = nl.load(x[0])
        else:
            tile = nl.load(x[me])
            tile = nl.multiply(tile, 2.0)
        nl.store(out[me], tile)
        return out

    np.testing.assert_allclose(kernel[4](X), X * np.array([1, 2, 2, 2], np.float32)[:, None, None], rtol=1e-6)
