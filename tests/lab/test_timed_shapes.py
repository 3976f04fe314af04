"""A kernel that is wrong only at the shape at which it is timed is found there, on more than its own inputs."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy_backend import KERNEL, NumpyBackend

from nki_anvil.lab import families
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.loading import load
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.verification import verify

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "seeds" / "problems", ROOT / "tests" / "cheats" / "problems")
F = np.float32
WIDE = 384
"""The last axis at the timed shape set; 96 at the one that gets every gate."""


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes that are only timed get less than all families, as large ones do."""
    monkeypatch.setattr(families, "TIMED_WHOLLY", 0)


def softmax(x: Any) -> Any:
    w = np.exp(x - x.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def softmax_without_maximum_where_it_is_timed(x: Any) -> Any:
    w = np.exp(x if x.shape[-1] == WIDE else x - x.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def softmax_whose_maximum_ends_with_the_last_whole_block_where_it_is_timed(x: Any) -> Any:
    """A block of 96 columns is whole at one shape, and leaves 4 of 100 at the other."""
    w = np.exp(x - x[..., : x.shape[-1] - x.shape[-1] % 96].max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def softmax_whose_maximum_starts_at_zero_where_it_is_timed(x: Any) -> Any:
    w = np.exp(x - x.max(-1, keepdims=True, initial=0.0 if x.shape[-1] == 100 else -np.inf))
    return w / w.sum(-1, keepdims=True)


def rmsnorm(x: Any, gain: Any, eps: float) -> Any:
    return x * (F(1) / np.sqrt(np.square(x).mean(-1, keepdims=True) + F(eps))) * gain


def rmsnorm_without_eps_where_it_is_timed(x: Any, gain: Any, eps: float) -> Any:
    return rmsnorm(x, gain, 0.0 if x.shape[-1] == WIDE else eps)


def dense_rmsnorm(x: Any, w: Any, eps: float, gain: Any, b: Any) -> Any:
    return rmsnorm(x @ w + b, gain, eps)


def dense_rmsnorm_without_eps_where_it_is_timed(x: Any, w: Any, eps: float, gain: Any, b: Any) -> Any:
    return dense_rmsnorm(x, w, 0.0 if w.shape[-1] == WIDE else eps, gain, b)


def bmm_softmax(lhs: Any, rhs: Any) -> Any:
    return softmax(lhs @ rhs)


def bmm_softmax_whose_maximum_leaves_the_last_column_out_where_it_is_timed(lhs: Any, rhs: Any) -> Any:
    scores = lhs @ rhs
    w = np.exp(scores - scores[..., : -1 if rhs.shape[-1] == WIDE else None].max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def bmm_softmax_whose_maximum_starts_at_zero_where_it_is_timed(lhs: Any, rhs: Any) -> Any:
    scores = lhs @ rhs
    w = np.exp(scores - scores.max(-1, keepdims=True, initial=0.0 if rhs.shape[-1] == WIDE else -np.inf))
    return w / w.sum(-1, keepdims=True)


def plane_softmax(x: Any, initial: float = -np.inf) -> Any:
    w = np.exp(x - x.max((-2, -1), keepdims=True, initial=initial))
    return w / w.sum((-2, -1), keepdims=True)


def plane_softmax_whose_maximum_starts_at_minus_100_where_it_is_timed(x: Any) -> Any:
    return plane_softmax(x, -100.0 if x.shape[-1] == WIDE else -np.inf)


async def judged(
    problem: str, kernel: Callable[..., Any], tmp_path: Path, rows: int = 160, wide: int = WIDE
) -> Verdict:
    folder = shutil.copytree(next(at / problem for at in FOLDERS if (at / problem).is_dir()), tmp_path / problem)
    text = re.sub(r"^\[shapes\.nkibench\]\n[^\[]*", "", (folder / "problem.toml").read_text(), flags=re.M)
    high, across = ("M", "N") if re.search(r"^M = ", text, flags=re.M) else ("H", "W")
    small = re.sub(rf"^{high} = \d+$", f"{high} = 64", text.replace('timed = "default"', 'timed = "wide"'), flags=re.M)
    dims, _, inputs = re.sub(rf"^{across} = \d+$", f"{across} = 96", small, flags=re.M).partition("[inputs.")
    (folder / "problem.toml").write_text(f"{dims}[shapes.wide]\n{high} = {rows}\n{across} = {wide}\n\n[inputs.{inputs}")
    specification = await load(folder)
    found = await verify(
        specification, KERNEL, "0" * 64, backend=NumpyBackend(kernel), pool=Pool(specification, tmp_path / "data"),
        random=np.random.default_rng(9),
    )  # fmt: skip
    return found.verdict


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("problem", "kernel"),
    [
        ("softmax", softmax),
        ("rmsnorm", rmsnorm),
        pytest.param("bmm_softmax", bmm_softmax, marks=pytest.mark.slow),
        pytest.param("plane_softmax", plane_softmax, marks=pytest.mark.slow),
        pytest.param("dense_rmsnorm", dense_rmsnorm, marks=pytest.mark.slow),
    ],
)
async def test_what_is_right_at_both_shapes_passes(problem: str, kernel: Callable[..., Any], tmp_path: Path) -> None:
    verdict = await judged(problem, kernel, tmp_path)
    assert verdict.passed, verdict.gates
    assert verdict.families["mixed"] == 1


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("problem", "kernel"),
    [("softmax", softmax_without_maximum_where_it_is_timed), ("rmsnorm", rmsnorm_without_eps_where_it_is_timed)],
)
async def test_a_shortcut_at_the_timed_shape_is_found(problem: str, kernel: Callable[..., Any], tmp_path: Path) -> None:
    verdict = await judged(problem, kernel, tmp_path)
    assert verdict.failed_gate == "values"
    assert verdict.where is not None
    assert (verdict.where.shapes, verdict.where.family) == ("wide", "mixed")


@pytest.mark.slow
@pytest.mark.usefixtures("large")
async def test_a_column_that_only_large_products_ask_for_is_missed_at_the_timed_shape_by_no_kernel(
    tmp_path: Path,
) -> None:
    kernel = bmm_softmax_whose_maximum_leaves_the_last_column_out_where_it_is_timed
    verdict = await judged("bmm_softmax", kernel, tmp_path)
    assert verdict.failed_gate == "values"
    assert verdict.where is not None
    assert (verdict.where.shapes, verdict.where.family) == ("wide", "peaks")


def matmul(a: Any, b: Any) -> Any:
    return a @ b


def matmul_without_faint_slabs_where_it_is_timed(a: Any, b: Any) -> Any:
    if b.shape[-1] != WIDE:
        return a @ b
    slabs = [slice(start, start + 128) for start in range(0, a.shape[-1], 128)]
    least = 0.01 * np.abs(a).max()
    return sum(a[:, slab] @ b[slab] for slab in slabs if np.abs(a[:, slab]).max() >= least)


@pytest.mark.slow
@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(("kernel", "right"), [(matmul, True), (matmul_without_faint_slabs_where_it_is_timed, False)])
async def test_slabs_at_the_timed_shape_are_large_and_faint_in_turn_and_count_alike(
    kernel: Callable[..., Any], right: bool, tmp_path: Path
) -> None:
    verdict = await judged("matmul", kernel, tmp_path)
    assert verdict.passed == right, verdict.gates
    if verdict.where is not None:
        assert verdict.where.shapes == "wide"
        assert verdict.where.family.startswith("opposed")


def silu(x: Any) -> Any:
    return x / (F(1) + np.exp(-x))


def silu_of_fewer_bits_in_tiles_of_moderate_size_where_it_is_timed(x: Any) -> Any:
    y = silu(x)
    for tile in (slice(start, start + 128) for start in range(0, len(x), 128)):
        if x.shape[-1] == WIDE and 0.1 < np.abs(x[tile]).max() < 1:
            y[tile] = (y[tile].view(np.uint32) & np.uint32(0xFFFF0000)).view(F)
    return y


@pytest.mark.slow
@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("kernel", "right"), [(silu, True), (silu_of_fewer_bits_in_tiles_of_moderate_size_where_it_is_timed, False)]
)
async def test_tiles_at_the_timed_shape_are_of_every_scale(
    kernel: Callable[..., Any], right: bool, tmp_path: Path
) -> None:
    verdict = await judged("silu", kernel, tmp_path, rows=1280)
    assert verdict.passed == right, verdict.gates
    if verdict.where is not None:
        assert verdict.where.shapes == "wide"
        assert verdict.where.family in ("scales", "medley"), "both have tiles of moderate size, one of them by lot"


@pytest.mark.slow
@pytest.mark.usefixtures("large")
async def test_a_whole_matrix_at_the_timed_shape_is_of_one_kind_as_well(tmp_path: Path) -> None:
    kernel = plane_softmax_whose_maximum_starts_at_minus_100_where_it_is_timed
    verdict = await judged("plane_softmax", kernel, tmp_path)
    assert verdict.failed_gate == "values"
    assert verdict.where is not None
    assert (verdict.where.shapes, verdict.where.family) == ("wide", "planes (x)")


@pytest.mark.slow
@pytest.mark.usefixtures("large")
async def test_all_products_at_the_timed_shape_are_below_zero_as_well(tmp_path: Path) -> None:
    kernel = bmm_softmax_whose_maximum_starts_at_zero_where_it_is_timed
    verdict = await judged("bmm_softmax", kernel, tmp_path)
    assert verdict.failed_gate == "values"
    assert verdict.families["signs"] >= 8, "four of them where it is timed; a fresh case may be one more"


@pytest.mark.slow
@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("rows", [1, 16, 160])
async def test_what_guards_the_norm_of_a_sum_at_the_timed_shape_is_missed_where_all_of_its_terms_are_faint(
    rows: int, tmp_path: Path
) -> None:
    verdict = await judged("dense_rmsnorm", dense_rmsnorm_without_eps_where_it_is_timed, tmp_path, rows)
    assert verdict.failed_gate == "values"
    assert verdict.where is not None
    assert verdict.where.shapes == "wide"
    assert verdict.where.family in ("faint (x)", "nothing")


@pytest.mark.slow
@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("rows", [1, 16])
async def test_few_rows_at_the_timed_shape_are_of_every_kind_in_turn(rows: int, tmp_path: Path) -> None:
    verdict = await judged("softmax", softmax_whose_maximum_starts_at_zero_where_it_is_timed, tmp_path, rows, 100)
    assert verdict.failed_gate == "values"
    assert verdict.families["mixed"] >= 16 // rows
    assert verdict.where is not None
    assert (verdict.where.shapes, verdict.where.family.partition("/")[0]) == ("wide", "mixed")


@pytest.mark.slow
async def test_a_small_shape_that_is_only_timed_gets_what_the_others_get(tmp_path: Path) -> None:
    verdict = await judged("softmax", softmax, tmp_path)
    assert verdict.passed, verdict.gates
    assert "mixed" not in verdict.families
    assert verdict.families["patterns"] >= 6
    assert verdict.families["blocks"] >= 2
    assert verdict.families["terraces"] >= 4


@pytest.mark.slow
@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("rows", [1, 16, 96])
async def test_a_maximum_that_ends_with_the_last_whole_block_is_found_at_the_timed_shape(
    rows: int, tmp_path: Path
) -> None:
    kernel = softmax_whose_maximum_ends_with_the_last_whole_block_where_it_is_timed
    verdict = await judged("softmax", kernel, tmp_path, rows, 100)
    assert verdict.failed_gate == "values"
    assert verdict.where is not None
    assert verdict.where.shapes == "wide"
