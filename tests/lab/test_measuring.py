"""Cases measured at large shapes: in groups, by few honest runs, probes of one draw."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import heavy
from nki_anvil.backends.worker import laid as laid_over
from nki_anvil.lab import families, families_by_lot, honest_runs, limits, measuring_groups, yardstick_file
from nki_anvil.lab.arithmetic import Arithmetic
from nki_anvil.lab.measuring import Measuring
from nki_anvil.lab.planned_case import Plan
from nki_anvil.lab.reference_module import ReferenceFault, ReferenceModule
from nki_anvil.lab.run_errors import KNOWN_SHARE

REFERENCE = """
import numpy as np

def get_inputs():
    return [np.random.normal(size=(64, 48)).astype(np.float32)]

def forward(x):
    return np.exp(x).sum(axis=1, keepdims=True) * x
"""
REQUEST: dict[str, Any] = {
    "arguments": [{"name": "x", "shape": [64, 48], "dtype": "float32", "domain": "real"}],
    "dtypes": ["float32"],
    "precision": "float32",
    "noise": 2.0**-22,
    "lots": False,
    "own_draws": "reference",
    "given": [[64, 48]],
}


def case(seed: int, probe: bool = False) -> dict[str, Any]:
    told = {"key": f"c{seed}", "seed": seed, "family": "own", "only": None, "scale": 1.0, "halvings": None}
    return {**told, "probe": {"input": "x", "edge": True, "turn": seed} if probe else None}


@pytest.fixture
def measuring(tmp_path: Path) -> Measuring:
    (tmp_path / "reference.py").write_text(REFERENCE)
    return Measuring(ReferenceModule(tmp_path / "reference.py", {}), REQUEST, tmp_path)


def test_every_probe_of_a_small_problem_disturbs_a_draw_of_its_own(measuring: Measuring):
    answers = [measuring.measure(case(seed, probe=True)) for seed in (1, 2, 3)]
    assert [answer["seed"] for answer in answers] == [1, 2, 3]


@pytest.mark.parametrize("low", [-2.0, None])
def test_a_probe_stays_within_the_bounds_that_a_problem_declares(tmp_path: Path, low: float | None):
    (tmp_path / "reference.py").write_text(REFERENCE)
    bounded = {**REQUEST["arguments"][0], "low": low, "high": 2.0}
    request = {**REQUEST, "arguments": [bounded], "own_draws": "domain"}
    bound = Measuring(ReferenceModule(tmp_path / "reference.py", {}), request, tmp_path)
    probes = [bound.measure(case(seed, probe=True))["probes"][0] for seed in range(1, 9)]
    assert {probe["value"] for probe in probes} <= {low, 2.0}
    assert any(probe["value"] == 2.0 for probe in probes)


def test_probes_of_a_large_problem_disturb_one_draw_at_different_places(
    measuring: Measuring, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(honest_runs, "LARGE_ELEMENTS", 100)
    measuring.measure(case(1))
    answers = [measuring.measure(case(seed, probe=True)) for seed in (2, 3, 4)]
    assert [answer["seed"] for answer in answers] == [1, 1, 1]
    assert len({answer["probes"][0]["index"] for answer in answers}) > 1
    kept = [yardstick_file.load(measuring.folder / f"c{seed}.npz").outputs[0] for seed in (1, 2, 3)]
    assert all(output.large for output in kept)
    assert len({output.r.tobytes() for output in kept}) == 3


def test_a_large_problem_is_measured_a_few_cases_at_a_time_its_probes_together():
    probe = Plan(probe={"input": "x", "edge": True, "turn": 0})
    plans = [Plan(), probe, *[Plan("uniform")] * 8, probe]
    parts = measuring_groups.groups(plans, large=True, elements=2.0**28, processes=8)
    assert sorted(position for part in parts for position in part) == list(range(11))
    assert max(map(len, parts)) == measuring_groups.GROUP
    assert [1, 10] in parts


def test_cases_are_dealt_out_to_as_many_processes_as_have_enough_to_do_and_each_is_measured_once():
    plans = [Plan()] * 11
    quick = measuring_groups.WORTH_A_PROCESS / 11
    assert measuring_groups.groups(plans, large=False, elements=quick, processes=8) == [list(range(11))]
    three = measuring_groups.groups(plans, large=False, elements=3 * quick, processes=8)
    assert three == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8]]
    assert measuring_groups.groups(plans, large=False, elements=3 * quick, processes=2) == [
        [0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9],
    ]  # fmt: skip
    assert len(measuring_groups.groups(plans, large=False, elements=1e12, processes=64)) == 11


def test_a_reference_that_takes_long_in_loops_is_asked_for_fewer_cases_at_a_time():
    plans = [Plan()] * 40
    slow = measuring_groups.LOOKS / 8
    parts = measuring_groups.groups(plans, large=False, elements=1, processes=2, seconds=slow)
    assert [len(part) for part in parts] == [8] * 5
    assert len(measuring_groups.groups(plans, large=False, elements=1, processes=2, seconds=1.0)) == 1
    assert len(measuring_groups.groups(plans, large=False, elements=1, processes=2, seconds=1e9)) == 40


def test_as_many_processes_measure_as_the_machine_has_cores_and_memory_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measuring_groups.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(measuring_groups, "_memory", lambda: 48 * 2.0**30)
    assert measuring_groups.side_by_side(100 << 20) == 8
    assert measuring_groups.side_by_side(4 << 30) == 2
    assert measuring_groups.side_by_side(100 << 30) == 1
    assert measuring_groups.side_by_side(0) == 8


def of_three_inputs(*, stochastic: bool = False) -> Any:
    inputs = [{"name": name, "shape": [64, 48], "dtype": "float32"} for name in ("a", "b", "c")]
    return SimpleNamespace(
        verify=("default",),
        own_draws="reference",
        stochastic=stochastic,
        precision="float32",
        outputs={},
        numbers=(),
        work={},
        reference_arguments=lambda _: SimpleNamespace(inputs=[InputSpec.model_validate(one) for one in inputs]),
    )


def test_what_rounds_by_lot_gets_every_family_too():
    assert families.plans(of_three_inputs(stochastic=True), "default", None) == families.plans(
        of_three_inputs(), "default", None
    )


def test_at_large_shapes_inputs_share_the_families_that_bend_one_alone():
    specification = of_three_inputs()
    small, large = (families.plans(specification, "default", None, large=size) for size in (False, True))
    alone = [(plan.family, plan.only) for plan in large if plan.only and plan.family in families.ALONE]
    assert {family for family, _ in alone} == set(families.ALONE)
    assert {only for _, only in alone} == {"a", "b", "c"}
    assert len(alone) == 3 * families.ALONE_LARGE
    probes = [plan.probe for plan in large if plan.probe]
    assert [(probe["input"], probe["edge"]) for probe in probes] == [("a", True), ("b", False), ("c", True)]
    laid = [f"laid/{turn}" for turn in range(laid_over.TURNS) if turn % families.LAID_LARGE]
    down = {plan.family for plan in small if plan.family.startswith("peaks/down")}
    spared = (
        *families.SPARED,
        *laid,
        *down,
        "laid/flat/1",
        *(f"laid/turning:-2,-1/{turn}" for turn in range(1, laid_over.FLAT)),
        "normed/1",
        "waves/1",
        *(f"heavy/{turn}" for turn in range(1, heavy.MOST)),
        "silent/1",
        "outcast/together/1",
        "medley",
        *(plan.family for plan in small if plan.family.startswith("laid/sloping")),
    )
    assert down
    assert [plan for plan in large if not plan.only and not plan.probe and plan.family != "medley"] == [
        plan for plan in small if not plan.only and not plan.probe and plan.family not in spared
    ]
    assert 3 * sum(plan.family == "medley" for plan in large) == sum(plan.family == "medley" for plan in small)
    assert sum(bool(plan.probe) for plan in small) == 3 * families.PROBES


@pytest.mark.parametrize(("rows", "again"), [(1, 8), (4, 8), (16, 4), (40, 1), (160, 1)])
def test_cases_drawn_by_lot_are_made_again_where_there_are_few_rows(rows: int, again: int):
    x = InputSpec(name="x", shape=(rows, 48))
    few, many = of_three_inputs(), of_three_inputs()
    few.reference_arguments = lambda _: SimpleNamespace(inputs=[x])
    many.reference_arguments = lambda _: SimpleNamespace(inputs=[x.model_copy(update={"shape": (160, 48)})])
    counts = [Counter(plan.family for plan in families.plans(one, "default", None)) for one in (few, many)]
    assert counts[0]["medley"] == again * counts[1]["medley"] == again * 2 * families_by_lot.MEDLEYS
    assert counts[0]["own"] == counts[1]["own"]


@pytest.mark.parametrize(("shape", "again"), [((1, 100_000), 1), ((100_000,), 1), ((1, 30_000), 4), ((0, 48), 8)])
def test_long_rows_and_vectors_are_as_many_elements(shape: tuple[int, ...], again: int):
    alone = of_three_inputs()
    alone.reference_arguments = lambda _: SimpleNamespace(inputs=[InputSpec(name="x", shape=shape)])
    drawn = [plan for plan in families.plans(alone, "default", None) if plan.family == "medley"]
    assert len(drawn) == again * 2 * families_by_lot.MEDLEYS


def test_a_look_before_a_claim_draws_more_of_what_is_drawn_by_lot():
    once, thrice = (families.plans(of_three_inputs(), "default", None, lots=lots) for lots in (1, 3))
    assert sum(plan.family == "medley" for plan in thrice) == 3 * sum(plan.family == "medley" for plan in once)


SATURATING = """
import numpy as np

def get_inputs():
    return [np.random.normal(size=(64, 48)).astype(np.float32)]

def forward(x):
    return x * (1 + np.tanh(x))
"""


def test_an_exact_zero_by_cancellation_is_not_taken_for_the_exact_result(tmp_path: Path):
    (tmp_path / "reference.py").write_text(SATURATING)
    measuring = Measuring(ReferenceModule(tmp_path / "reference.py", {}), REQUEST, tmp_path)
    runs = measuring.runs.measure([np.full((64, 48), -30.0, np.float32)], seed=1)
    assert runs is not None
    (output,) = runs.outputs
    assert not output.r.any(), "one and a saturated tangent cancel in float64"
    assert output.spread.min() > 0, "what a function that does not cancel gives there is right"


def test_rows_beyond_honest_arithmetic_are_left_out_of_a_case_of_many_regimes(measuring: Measuring):
    answer = measuring.measure({**case(1), "family": "bands"})
    assert answer["admissible"]
    (output,) = yardstick_file.load(measuring.folder / "c1.npz").outputs
    known = np.isfinite(output.r)
    lost = ~known.any(axis=-1, keepdims=True)
    assert np.array_equal(known, np.broadcast_to(~lost, known.shape)), "a row is judged or it is not"
    assert 0 < lost.mean() < 0.5, "exponentials of a hundred and more overflow"
    y = np.where(known, output.r, np.inf)
    assert limits.compare(output, y, 2e-5, own=False)[0].share < 1
    y[int(np.argmin(lost)), 0] += 1.0
    assert limits.compare(output, y, 2e-5, own=False)[0].share > 1


def test_a_case_with_hardly_a_row_to_judge_by_is_made_weaker(measuring: Measuring):
    answer = measuring.measure({**case(2), "family": "huge"})
    assert answer["admissible"]
    assert answer["scale"] < 1
    (output,) = yardstick_file.load(measuring.folder / "c2.npz").outputs
    assert np.isfinite(output.r).mean() >= KNOWN_SHARE


def test_a_case_that_no_magnitude_makes_admissible_is_drawn_anew(measuring: Measuring, monkeypatch: pytest.MonkeyPatch):
    seeds: list[int] = []

    def unlucky_at_first(_: Any, inputs: Any, seed: int, **named: Any) -> Any:
        seeds.append(seed)
        return measured(measuring.runs, inputs, seed, **named) if len(seeds) > 2 else None

    measured = honest_runs.HonestRuns.measure
    monkeypatch.setattr(honest_runs.HonestRuns, "measure", unlucky_at_first)
    answer = measuring.measure({**case(2), "family": "ties"})
    assert (seeds, answer["seed"], answer["scale"]) == ([2, 3, 4], 4, 0.25)
    drawn = measuring.draw({**case(4), "family": "ties", "scale": 0.25})
    kept = yardstick_file.load(measuring.folder / "c2.npz").outputs[0]
    assert np.array_equal(kept.r, measuring.runs.exact(list(drawn.values()))[0][0], equal_nan=True)


SCORES = """
import numpy as np

def get_inputs():
    return [np.random.normal(size=(64, 48)).astype(np.float32)]

def forward(x):
    scores = np.matmul(x, np.ones((48, 32)))
    return np.exp(scores - scores[:, :1])
"""


MEANS = """
import numpy as np

def get_inputs():
    return [np.random.normal(size=(64, 800)).astype(np.float32)]

def forward(x):
    return x.mean(axis=1, keepdims=True) + 0 * x
"""


def test_what_hangs_on_one_rounding_of_a_sum_may_err_by_it_though_every_float32_run_rounds_alike(tmp_path: Path):
    (tmp_path / "reference.py").write_text(SCORES)
    measuring = Measuring(ReferenceModule(tmp_path / "reference.py", {}), REQUEST, tmp_path)
    runs = measuring.runs.measure([np.full((64, 48), 8.0, np.float32)], seed=1)
    assert runs is not None
    (output,) = runs.outputs
    half_a_place = 8 * 48 * 2.0**-24
    assert np.median(output.spread[:, 1:]) > half_a_place / 4, "384 is exact in float32, in whatever order it is summed"


def test_a_mean_whose_terms_cancel_may_err_as_a_running_sum_of_them_does_in_some_order(tmp_path: Path):
    (tmp_path / "reference.py").write_text(MEANS)
    measuring = Measuring(ReferenceModule(tmp_path / "reference.py", {}), REQUEST, tmp_path)
    x = np.tile(np.array([1, -1], np.float32), (64, 400))
    runs = measuring.runs.measure([x], seed=1)  # exact in each of the orders that are tried
    assert runs is not None
    random_order = 2.0**-24 * np.sqrt(x.shape[1] ** 2 / 2) / x.shape[1]
    assert random_order / 4 < np.median(runs.outputs[0].spread) < random_order


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_an_output_in_a_narrow_format_is_judged_in_every_family_though_float32_is_declared(tmp_path: Path, dtype: str):
    (tmp_path / "reference.py").write_text(REFERENCE)
    request = {**REQUEST, "dtypes": [dtype]}
    measuring = Measuring(ReferenceModule(tmp_path / "reference.py", {}), request, tmp_path)
    for seed, family in enumerate(("own", "zeros", "spike", "small", "bands")):
        assert measuring.measure({**case(seed), "family": family})["admissible"], family


def test_honest_runs_lose_the_digits_that_small_numbers_of_a_format_lack(tmp_path: Path):
    (tmp_path / "reference.py").write_text(REFERENCE.replace("* x", "* x * 1e-8"))
    request = {**REQUEST, "dtypes": ["float16"]}
    measuring = Measuring(ReferenceModule(tmp_path / "reference.py", {}), request, tmp_path)
    found = measuring.runs.measure([np.ones((64, 48), np.float32)], 1)
    assert found is not None
    right = found.outputs[0].r.astype(np.float16)
    assert float(np.abs(right - found.outputs[0].r).max() / found.outputs[0].r.max()) > 0.001
    assert all(use.share < 1 for use in limits.compare(found.outputs[0], right, 1.0, own=False))


SELECTING = """
import numpy as np

def get_inputs():
    return [np.random.normal(size=(64, 600)).astype(np.float32), np.random.randint(0, 9, (64, 1))]

def forward(x, n):
    kept = np.where(x > 0, x, 0.1 * x)
    return np.where(np.arange(x.shape[1]) < 600, kept, 0.0).sum(axis=1, keepdims=True) / np.maximum(n, 7)
"""


def test_what_numpy_selects_is_added_in_every_order_and_stored_in_the_outputs_format(tmp_path: Path):
    (tmp_path / "reference.py").write_text(SELECTING)
    runs = honest_runs.HonestRuns(ReferenceModule(tmp_path / "reference.py", {}), ["float32"], "float32", 0.0)
    x, n = np.random.default_rng(1).standard_normal((64, 600)).astype(np.float32), np.full((64, 1), 7)
    orders = ("plain", "sequential", "reversed")
    summed = [runs.module.forward([x, n], Arithmetic(order=order))[0] for order in orders]
    assert not any(np.array_equal(summed[a], summed[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    found = runs.measure([np.ones((64, 600), np.float32), n], 1)
    assert found is not None
    assert not found.outputs[0].exact, "600 / 7 has more digits than float32"


CHOOSING = """
import numpy as np

def get_inputs():
    return [np.random.normal(size=(64, 48)).astype(np.float32)]

def forward(x):
    return np.argmax(x * 3.0 + 1.0, axis=1).astype(np.int32)[:, None], np.argsort(-x, axis=1)[:, :4].astype(np.int32)
"""


@pytest.mark.parametrize("family", ["integers", "ties"])
def test_an_index_names_the_first_of_equals_though_disturbed_inputs_make_another_the_largest(
    tmp_path: Path, family: str
):
    (tmp_path / "reference.py").write_text(CHOOSING.replace("axis=1)[:, :4]", "axis=1, kind='stable')[:, :4]"))
    request = {**REQUEST, "dtypes": ["int32", "int32"]}
    measuring = Measuring(ReferenceModule(tmp_path / "reference.py", {}), request, tmp_path)
    assert measuring.measure({**case(3), "family": family})["admissible"]
    found = yardstick_file.load(tmp_path / "c3.npz")
    assert all(output.exact for output in found.outputs)


def test_equals_are_sorted_in_any_order_unless_a_stable_one_is_asked_for(tmp_path: Path):
    x = np.random.default_rng(1).integers(0, 3, (64, 48)).astype(np.float32)
    for stable in (False, True):
        text = CHOOSING.replace("axis=1)[:, :4]", "axis=1, kind='stable')[:, :4]") if stable else CHOOSING
        (tmp_path / "reference.py").write_text(text)
        module = ReferenceModule(tmp_path / "reference.py", {})
        found = honest_runs.HonestRuns(module, ["int32", "int32"], "float32", 0.0).measure([x], 1, tied=True)
        assert found is not None
        assert found.outputs[1].exact is stable
        right = np.argsort(-x, axis=1, kind="stable")[:, :4]
        assert np.array_equal(found.outputs[1].r, right)


def test_what_is_left_of_two_products_that_cancel_is_large_beside_any_guard_where_all_of_it_is_tall(tmp_path: Path):
    """Else what is added to a root hides what a kernel makes of such rows."""
    body = "y = x @ w + z @ v\n    return y / np.sqrt(np.square(y).mean(axis=1, keepdims=True) + 1e-6)"
    shapes = {"x": [64, 48], "w": [48, 32], "z": [64, 48], "v": [48, 32]}
    draws = ", ".join(f"np.random.normal(size={shape}).astype(np.float32)" for shape in shapes.values())
    text = f"import numpy as np\n\ndef get_inputs():\n    return [{draws}]\n\ndef forward(x, w, z, v):\n    {body}\n"
    (tmp_path / "reference.py").write_text(text)
    arguments = [{"name": n, "shape": s, "dtype": "float32", "domain": "real"} for n, s in shapes.items()]
    request = {**REQUEST, "arguments": arguments, "given": [*shapes.values()]}
    measured = Measuring(ReferenceModule(tmp_path / "reference.py", {}), request, tmp_path)
    drawn = measured.draw({**case(1), "family": "aimed/met/tall", "only": "w"})
    x, w, z, v = (drawn[name].astype(np.float64) for name in shapes)
    left, terms = (np.sqrt(np.square(of).mean(axis=1)) for of in (x @ w + z @ v, z @ v))
    faint = left < 1e-3 * terms
    assert faint.sum() > 10
    assert left[faint].min() > 1e-2


def test_all_that_inputs_are_added_to_cancels_at_once_in_the_same_rows(tmp_path: Path):
    body = "u, v = x + 0.5 * p, np.tanh(y) - np.tanh(q)\n    return np.square(u) + np.square(v)"
    (tmp_path / "reference.py").write_text(
        "import numpy as np\n\ndef get_inputs():\n    return [np.random.normal(size=(64, 48)) for _ in range(4)]\n\n"
        f"def forward(x, y, p, q):\n    {body}\n"
    )
    arguments = [{"name": name, "shape": [64, 48], "dtype": "float32", "domain": "real"} for name in "xypq"]
    request = {**REQUEST, "arguments": arguments, "given": [[64, 48]] * 4}
    measured = Measuring(ReferenceModule(tmp_path / "reference.py", {}), request, tmp_path)
    drawn = measured.draw({**case(1), "family": "against/together", "only": ""})
    x, y, p, q = (drawn[name].astype(np.float64) for name in "xypq")
    left = [np.abs(u).max(axis=1) for u in (x + 0.5 * p, np.tanh(y) - np.tanh(q))]
    assert all((of < 1.0).all() for of in left)
    assert ((left[0] < 1e-2) & (left[1] < 1e-2)).sum() > 16


@pytest.mark.parametrize("seed", range(8))
def test_a_sum_that_comes_to_nothing_is_above_its_limit_in_one_of_the_honest_runs(tmp_path: Path, seed: int):
    """By chance alone all of a few runs are below it in one element of some dozens, and a right kernel is not."""
    (tmp_path / "reference.py").write_text(
        "import numpy as np\n\ndef get_inputs():\n    return []\n\ndef forward(x, y):\n"
        "    d = np.square(x).sum(axis=1) + np.square(y).sum(axis=1) - 2 * (x * y).sum(axis=1)\n"
        "    return np.sqrt(np.maximum(d, 0.0))\n"
    )
    runs = honest_runs.HonestRuns(ReferenceModule(tmp_path / "reference.py", {}), ("float32",), "float32", 0.0)
    x = np.random.default_rng(seed).standard_normal((256, 32)).astype(np.float32)
    found = runs.measure([x, x.copy()], seed, partial=True)
    assert found is not None
    assert (found.outputs[0].spread[np.isfinite(found.outputs[0].r)] > 0).all()


@pytest.mark.parametrize(("domain", "stays"), [("real", False), ("constant", True)])
def test_a_constant_of_the_problem_holds_no_sequence_of_the_references(tmp_path: Path, domain: str, stays: bool):
    (tmp_path / "reference.py").write_text(f"{REFERENCE}\nTABLE = np.cos(np.arange(48.0))\n")
    argument = {**REQUEST["arguments"][0], "domain": domain}
    measuring = Measuring(
        ReferenceModule(tmp_path / "reference.py", {}), {**REQUEST, "arguments": [argument]}, tmp_path
    )
    own, bent = (measuring.draw({**case(1), "family": family})["x"] for family in ("own", "recalled/rows/0"))
    assert np.array_equal(own, bent) == stays


SEARCHED = """
import numpy as np

def get_inputs():
    edges = np.sort(np.random.randint(0, 40, (24, 6)), axis=1)
    ranks = np.stack([np.random.permutation(9) for _ in range(24)])
    return [edges.astype(np.int32), ranks.astype(np.int32), np.sort(np.random.rand(24).astype(np.float32))]

def forward(edges, ranks, cuts):
    places = np.stack([np.searchsorted(some, at) for some, at in zip(edges, ranks)])
    return (places * (ranks < 4)).astype(np.float32) + cuts[:, None]
"""
ORDERED: list[dict[str, Any]] = [
    {"name": "edges", "shape": [24, 6], "dtype": "int32", "domain": "integer", "low": 0, "high": 39},
    {"name": "ranks", "shape": [24, 9], "dtype": "int32", "domain": "integer", "low": 0, "high": 8},
    {"name": "cuts", "shape": [24], "dtype": "float32", "domain": "nonnegative"},
]


@pytest.mark.parametrize("family", ["altered/0", "altered/1", "altered/2", "altered/3", "domino/0", "domino/1",
                                    "lesser/0", "recalled/rows/0", "own", "whole"])  # fmt: skip
def test_what_is_in_an_order_stays_so_in_what_is_searched_though_it_is_put_together_of_rows(
    tmp_path: Path, family: str
):
    (tmp_path / "reference.py").write_text(SEARCHED)
    orders = ("ascending", "permutation", "ascending")
    arguments = [{**argument, "order": order} for argument, order in zip(ORDERED, orders, strict=True)]
    request = {**REQUEST, "arguments": arguments, "given": [argument["shape"] for argument in arguments]}
    measuring = Measuring(ReferenceModule(tmp_path / "reference.py", {}), request, tmp_path)
    own = measuring.draw({**case(3), "family": "own"})
    for seed in (3, 4):
        drawn = measuring.draw({**case(seed), "family": family})
        assert (np.diff(drawn["edges"]) >= 0).all()
        assert (np.diff(drawn["cuts"]) >= 0).all()
        assert (np.sort(drawn["ranks"]) == np.arange(9)).all()
        assert [drawn[name].dtype for name in drawn] == [own[name].dtype for name in own]


def test_edges_that_are_nearly_equal_still_ascend_where_honest_runs_are_off_by_a_rounding(tmp_path: Path):
    """np.digitize takes no others."""
    (tmp_path / "reference.py").write_text(
        "import numpy as np\n\ndef get_inputs():\n    return []\n\ndef forward(edges, x):\n"
        "    return np.digitize(x, edges).astype(np.float32)\n"
    )
    module = ReferenceModule(tmp_path / "reference.py", {})
    inputs = [np.full(32, 0.3, np.float32), np.random.default_rng(1).random((64, 8), np.float32)]
    orders = [{"order": "ascending"}, {}]
    assert honest_runs.HonestRuns(module, ("float32",), "float32", 0.0, arguments=orders).measure(inputs, 1)
    with pytest.raises(ReferenceFault, match="monotonically"):
        honest_runs.HonestRuns(module, ("float32",), "float32", 0.0).measure(inputs, 1)


def test_cases_are_drawn_by_get_inputs_too_where_own_draws_go_by_what_is_declared():
    declared, drawn = of_three_inputs(), of_three_inputs()
    declared.own_draws, declared.inferred = "inputs", False
    counts = [Counter(plan.family for plan in families.plans(one, "default", None)) for one in (declared, drawn)]
    assert counts[0]["drawn"] == families.OWN_CASES
    assert counts[1]["drawn"] == 0


def test_what_get_inputs_draws_stays_within_what_is_declared(tmp_path: Path):
    (tmp_path / "reference.py").write_text(REFERENCE)
    bounded = {**REQUEST["arguments"][0], "domain": "positive", "low": 0.0, "high": 0.5}
    request = {**REQUEST, "arguments": [bounded], "own_draws": "inputs"}
    module = ReferenceModule(tmp_path / "reference.py", {})
    x = Measuring(module, request, tmp_path).draw({"family": "drawn", "seed": 7, "only": None})["x"]
    assert (x == np.minimum(np.abs(module.get_inputs(7)[0]), 0.5)).all()


def test_an_own_draw_stands_for_what_get_inputs_draws_in_another_shape(tmp_path: Path):
    (tmp_path / "reference.py").write_text(REFERENCE)
    other = {**REQUEST["arguments"][0], "shape": [4, 48]}
    request = {**REQUEST, "arguments": [other], "own_draws": "inputs", "given": [[4, 48]]}
    measuring = Measuring(ReferenceModule(tmp_path / "reference.py", {}), request, tmp_path)
    drawn, own = (measuring.draw({"family": family, "seed": 7, "only": None})["x"] for family in ("drawn", "own"))
    assert drawn.shape == (4, 48)
    assert (drawn == own).all()
