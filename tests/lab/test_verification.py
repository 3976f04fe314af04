"""Wrong kernels are rejected and honest ones accepted; kernels are plain NumPy functions here."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from numpy_backend import KERNEL, POISON, NumpyBackend

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import BackendFailed, StateDamaged
from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.run import CaseResult, Finding, KernelError, Run
from nki_anvil.lab import returned, standard
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.evidence import Observed
from nki_anvil.lab.loading import load
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.verification import WARNINGS, verify

pytestmark = pytest.mark.anyio
SEEDS = Path(__file__).parents[2] / "seeds" / "problems"
F = np.float32
RANDOM = np.random.default_rng(7)
Kernel = Callable[..., Any]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pools are kept between the tests, as a server keeps them."""
    return tmp_path_factory.mktemp("data")


SMALL = {"M": 160, "N": 192, "K": 160}
LOADED: dict[str, Specification] = {}


async def small(problem: str, data: Path) -> Specification:
    """A seed at smaller dimensions: partial tiles, several slabs, and quick."""
    if str(data / problem) not in LOADED:
        folder = shutil.copytree(SEEDS / problem, data / problem)
        text, _, rest = (folder / "problem.toml").read_text().partition("[shapes.nkibench]")
        for name, size in SMALL.items():
            text = re.sub(rf"^{name} = \d+$", f"{name} = {size}", text, flags=re.MULTILINE)
        (folder / "problem.toml").write_text(text + "[shapes.nkibench]" + rest)
        LOADED[str(data / problem)] = await load(folder)
    return LOADED[str(data / problem)]


async def judged(problem: str, kernel: Kernel, data: Path, full: bool = True) -> Verdict:
    specification = await small(problem, data)
    pool = Pool(specification, data)
    found = await verify(
        specification, KERNEL, "0" * 64, backend=NumpyBackend(kernel), pool=pool, random=RANDOM, full=full
    )
    return found.verdict


@pytest.mark.slow
async def test_a_look_at_unseen_cases_draws_as_many_and_leaves_the_pool_as_it_was(data: Path) -> None:
    specification = await small("softmax", data)
    seen: list[set[int]] = []

    class Watched(NumpyBackend):
        async def run(self, job: Job, report: Report = silent) -> Run:
            seen.append({case.seed for case in job.cases})
            return await super().run(job, report)

    async def look(*, unseen: bool) -> Verdict:
        return await standard.verify(
            specification, KERNEL, "0" * 64, backend=Watched(softmax), data=data, random=RANDOM, unseen=unseen,
            report=silent,
        )  # fmt: skip

    first = await look(unseen=False)
    before = sorted(path.name for path in (data / "cases").rglob("*"))
    alone = await look(unseen=True)
    assert (first.passed, first.unseen, alone.passed, alone.unseen) == (True, False, True, True)
    # What a search ends in hangs on the draws that it starts from; all else is planned.
    assert alone.families.keys() - first.families.keys() - {"residue"} == {"returned"}
    assert not first.families.keys() - alone.families.keys() - {"residue"}
    assert alone.families["medley"] > 2 * first.families["medley"]
    assert not seen[0] & seen[1]
    assert sorted(path.name for path in (data / "cases").rglob("*")) == before


@pytest.mark.parametrize("again", [False, True])
async def test_what_a_kernel_has_returned_is_given_to_it_again(data: Path, again: bool) -> None:
    known = set[bytes]()

    def forgetful_of_others(x: Any) -> Any:
        y = softmax(x)
        known.add(y.tobytes())
        return 1 - y if x.tobytes() in known else y

    specification = await small("softmax", data)
    backend = NumpyBackend(forgetful_of_others)
    found = await verify(
        specification, KERNEL, "0" * 64, backend=backend, pool=Pool(specification, data), random=RANDOM, again=again
    )
    assert found.verdict.passed == (not again)
    if again:
        assert found.verdict.failed_gate == "values"
        assert found.verdict.where
        assert found.verdict.where.family == "returned (x)"


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["adamw", "matmul", "rmsnorm"])
async def test_outputs_stand_for_inputs_of_their_kind_alone(data: Path, problem: str) -> None:
    specification = await small(problem, data)
    pool = Pool(specification, data)
    inputs = {spec.name: spec for spec in specification.shape_sets["default"].inputs}
    own = next(one for one in await pool.draw(RANDOM) if one.case.family == "own" and not one.case.probes)
    shapes = [output.shape for output in specification.outputs["default"]]
    outputs = tuple(np.full(shape, 0.5, F) for shape in shapes)
    result = CaseResult(key=own.case.key, inputs_digest=own.inputs_digest, outputs=outputs)
    found = await returned.cases(specification, [Observed(own.case, result, await pool.yardstick(own.case))], pool)
    wanted = {name for name, spec in inputs.items() if spec.shape in shapes and spec.domain == "real"}
    assert {one.case.only for one in found} <= wanted
    assert len(found) <= returned.MOST
    assert bool(found) == bool(wanted)
    for one in found:
        arrays = await pool.arrays(one)
        assert (arrays[str(one.case.only)] == 0.5).all()


def bf16(x: Any) -> Any:
    return (np.asarray(x, F).view(np.uint32) + 0x8000 & 0xFFFF0000).view(F)


# softmax


def softmax(x: Any) -> Any:
    w = np.exp(x - x.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def softmax_in_halves(x: Any) -> Any:
    w = np.exp(x - x.max(-1, keepdims=True))
    half = x.shape[1] // 2
    return w * (F(1) / (w[:, half:].sum(-1, keepdims=True) + w[:, :half].sum(-1, keepdims=True)))


def online_softmax(x: Any) -> Any:
    largest, total = np.full((len(x), 1), -np.inf, F), np.zeros((len(x), 1), F)
    for k in range(0, x.shape[1], 128):
        tile = x[:, k : k + 128]
        new = np.maximum(largest, tile.max(-1, keepdims=True))
        total = total * np.exp(largest - new) + np.exp(tile - new).sum(-1, keepdims=True)
        largest = new
    return np.exp(x - largest) / total


def softmax_without_maximum(x: Any) -> Any:
    w = np.exp(x)
    return w / w.sum(-1, keepdims=True)


def softmax_with_half_maximum(x: Any) -> Any:
    w = np.exp(x - x[:, : x.shape[1] // 2].max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def softmax_mostly_zero(x: Any) -> Any:
    y = softmax(x)
    y[y < 3e-6] = 0
    return y


def softmax_without_last_tile(x: Any) -> Any:
    y = softmax(x)
    y[128:] = 0
    return y


def softmax_unwritten(x: Any) -> Any:
    y = softmax(x)
    y[150:, 180:] = POISON[0]
    return y


def softmax_that_writes_its_input(x: Any) -> Any:
    y = softmax(x)
    x -= 1
    return y


SOFTMAX_HONEST = [softmax, softmax_in_halves, online_softmax, lambda x: softmax(x[:, ::-1])[:, ::-1].copy()]
SOFTMAX_CHEATS: list[tuple[Kernel, str, str]] = [
    (softmax_without_maximum, "values", "overflow"),
    (softmax_with_half_maximum, "values", "overflow"),
    (softmax_mostly_zero, "values", "missing_tile"),
    (softmax_without_last_tile, "values", "missing_tile"),
    (lambda x: softmax(x) * F(1.0004), "values", "scaled"),
    (lambda x: bf16(softmax(x)), "values", "precision"),
    (lambda x: np.full_like(x, 1 / x.shape[1]), "values", ""),
    (lambda x: np.roll(softmax(x), 1, axis=1), "values", "shifted"),
    (softmax_unwritten, "outputs", ""),
    (softmax_that_writes_its_input, "outputs", ""),
    (lambda x: softmax(x)[:, :1], "outputs", ""),
    (lambda x: softmax(x).astype(np.float64), "outputs", ""),
    (lambda x: (softmax(x), x), "outputs", ""),
]


@pytest.mark.parametrize("kernel", SOFTMAX_HONEST)
async def test_an_honest_softmax_passes(kernel: Kernel, data: Path) -> None:
    verdict = await judged("softmax", kernel, data)
    assert verdict.passed, verdict.gates
    assert verdict.limit_use is not None
    assert verdict.limit_use < 1


@pytest.mark.parametrize(("kernel", "gate", "pattern"), SOFTMAX_CHEATS)
async def test_a_wrong_softmax_is_stopped_by_its_gate(kernel: Kernel, gate: str, pattern: str, data: Path) -> None:
    verdict = await judged("softmax", kernel, data)
    assert verdict.failed_gate == gate
    assert not pattern or (verdict.where is not None and verdict.where.pattern == pattern), verdict.where


async def test_a_small_even_error_is_answered_with_the_formats_and_the_constants(data: Path) -> None:
    verdict = await judged("softmax", lambda x: bf16(softmax(x)), data)
    assert "keep intermediates in float32, or mend a constant with too few digits" in verdict.hint


async def test_a_softmax_without_maximum_is_right_on_its_own_inputs_and_still_rejected(data: Path) -> None:
    fast = await judged("softmax", softmax_without_maximum, data, full=False)
    full = await judged("softmax", softmax_without_maximum, data)
    assert fast.passed
    assert not fast.full
    assert full.failed_gate == "values"


async def test_a_kernel_that_gives_other_bits_each_time_is_not_deterministic(data: Path) -> None:
    """It differs below every limit, and equally for both poisons, so nothing but this gate can see it."""
    verdict = await judged("softmax", _drifting(), data)
    assert verdict.failed_gate == "determinism", verdict.gates


def _drifting() -> Kernel:
    seen: dict[bytes, int] = {}

    def kernel(x: Any) -> Any:
        key = x.tobytes()[:64]
        turn = seen[key] = seen.get(key, 0) + (POISON[0] > 0)
        y = softmax(x)
        return np.nextafter(y, F(1)) if turn > 1 else y

    return kernel


# matmul


def dropped_slab(lhs: Any, rhs: Any) -> Any:
    return lhs[:, :128] @ rhs[:128]


def slabs(lhs: Any, rhs: Any) -> Any:
    total = np.zeros((len(lhs), rhs.shape[1]), F)
    for k in range(0, lhs.shape[1], 128):
        total += lhs[:, k : k + 128] @ rhs[k : k + 128]
    return total


def one_by_one(lhs: Any, rhs: Any) -> Any:
    total = np.zeros((len(lhs), rhs.shape[1]), F)
    for k in range(lhs.shape[1]):
        total += lhs[:, k : k + 1] * rhs[k]
    return total


def reversed_order(lhs: Any, rhs: Any) -> Any:
    return one_by_one(lhs[:, ::-1], rhs[::-1])


def three_bf16(lhs: Any, rhs: Any) -> Any:
    """Each operand as three bfloat16 pieces, six products: as exact as float32."""

    def pieces(x: Any) -> list[Any]:
        high = bf16(x)
        middle = bf16(x - high)
        return [high, middle, bf16(x - high - middle)]

    a, b = pieces(lhs), pieces(rhs)
    return sum((a[i] @ b[j] for i, j in ((2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0))), np.zeros((1,), F))


def two_bf16(lhs: Any, rhs: Any) -> Any:
    high, wide = bf16(lhs), bf16(rhs)
    return high @ wide + bf16(lhs - high) @ wide + high @ bf16(rhs - wide)


def bf16_accumulator(lhs: Any, rhs: Any) -> Any:
    total = np.zeros((len(lhs), rhs.shape[1]), F)
    for k in range(0, lhs.shape[1], 16):
        total = bf16(total + lhs[:, k : k + 16] @ rhs[k : k + 16])
    return total


@pytest.mark.parametrize("kernel", [np.matmul, slabs, one_by_one, reversed_order, three_bf16])
async def test_any_order_of_summation_passes(kernel: Kernel, data: Path) -> None:
    verdict = await judged("matmul", kernel, data)
    assert verdict.passed, verdict.gates


@pytest.mark.parametrize(
    ("kernel", "pattern"),
    [
        (dropped_slab, "wrong_reduction"),
        (lambda a, b: bf16(a) @ bf16(b), ""),
        (two_bf16, ""),
        (bf16_accumulator, ""),
        (lambda a, b: (a @ b) * F(0.5), "scaled"),
        (lambda a, b: (a @ b).T.copy().reshape(len(a), -1), "transposed"),
        (lambda a, b: np.ones((len(a), b.shape[1]), F), ""),
    ],
)
async def test_a_wrong_matmul_is_rejected(kernel: Kernel, pattern: str, data: Path) -> None:
    verdict = await judged("matmul", kernel, data)
    assert verdict.failed_gate == "values"
    assert not pattern or (verdict.where is not None and verdict.where.pattern == pattern), verdict.where


# norms and the optimiser


def rmsnorm(x: Any, gain: Any, eps: float) -> Any:
    return x * (F(1) / np.sqrt(np.square(x).mean(-1, keepdims=True) + F(eps))) * gain


def adamw(*arguments: Any) -> Any:
    theta, grad, m, v, lr, beta1, beta2, eps, decay, step = arguments
    m_hat = (F(beta1) * m + F(1 - beta1) * grad) * F(1 / (1 - beta1**step))
    v_hat = (F(beta2) * v + F(1 - beta2) * grad * grad) * F(1 / (1 - beta2**step))
    return theta * F(1 - lr * decay) - F(lr) * m_hat / (np.sqrt(v_hat) + F(eps))


def fused(x: Any, w: Any, eps: float, z: Any, g: Any) -> Any:
    y = slabs(x, w) + z
    return y * g * (F(1) / np.sqrt((y * y).sum(-1, keepdims=True) * F(1 / y.shape[1]) + F(eps)))


@pytest.mark.parametrize(
    ("problem", "kernel"),
    [
        ("rmsnorm", rmsnorm),
        pytest.param("adamw", adamw, marks=pytest.mark.slow),
        pytest.param("matmul_add_rmsnorm", fused, marks=pytest.mark.slow),
    ],
)
async def test_a_fused_and_reordered_kernel_passes(problem: str, kernel: Kernel, data: Path) -> None:
    verdict = await judged(problem, kernel, data)
    assert verdict.passed, verdict.gates


@pytest.mark.parametrize(
    ("problem", "kernel"),
    [
        ("rmsnorm", lambda x, gain, eps: rmsnorm(x, gain, 0.0)),
        ("rmsnorm", lambda x, gain, eps: rmsnorm(x, gain, eps) * F(1 + 2e-6)),
        ("rmsnorm", lambda x, gain, eps: bf16(rmsnorm(x, gain, eps))),
        ("adamw", lambda *a: adamw(*a[:8], 0.0, a[9])),
        ("adamw", lambda *a: adamw(*a[:7], 0.0, *a[8:])),
        pytest.param("matmul_add_rmsnorm", lambda x, w, eps, z, g: fused(x, w, 0.0, z, g), marks=pytest.mark.slow),
        pytest.param("matmul_add_rmsnorm", lambda x, w, eps, z, g: fused(x, w, eps, z * 0, g), marks=pytest.mark.slow),
    ],
)
async def test_a_term_that_is_left_out_is_missed(problem: str, kernel: Kernel, data: Path) -> None:
    verdict = await judged(problem, kernel, data)
    assert verdict.failed_gate == "values"


# the frame around the gates


async def test_a_verdict_always_has_nine_gates_and_says_which_were_not_reached(data: Path) -> None:
    verdict = await judged("softmax", softmax_without_last_tile, data)
    assert [gate.passed for gate in verdict.gates] == [True] * 4 + [False] + [None] * 4
    assert verdict.gates[-1].detail == "Not reached."


async def test_text_that_the_language_gate_refuses_starts_nothing(data: Path) -> None:
    specification, backend = await small("softmax", data), NumpyBackend(softmax)
    text = "import nki\n\n\n@nki.jit\ndef kernel(x):\n    return eval('x')\n"
    pool = Pool(specification, data)
    found = await verify(specification, text, "0" * 64, backend=backend, pool=pool, random=RANDOM)
    assert backend.jobs == []
    assert found.verdict.failed_gate == "language"
    assert found.verdict.gates[0].line == 6
    assert found.run is None


async def test_inputs_that_another_numpy_drew_differently_are_sent_along(data: Path) -> None:
    specification = await small("softmax", data)
    backend = NumpyBackend(softmax)
    first = True

    def other_numpy(run: Any) -> Any:
        nonlocal first
        if not first:
            return run
        first = False
        return run.model_copy(
            update={"cases": tuple(c.model_copy(update={"inputs_digest": "other"}) for c in run.cases)}
        )

    backend.alter = other_numpy
    pool = Pool(specification, data)
    found = await verify(specification, KERNEL, "0" * 64, backend=backend, pool=pool, random=RANDOM)
    assert found.verdict.passed
    assert len(backend.jobs) == 2
    assert backend.jobs[1].uploads


async def test_a_result_that_did_not_come_back_is_a_failure(data: Path) -> None:
    specification: Specification = await small("softmax", data)
    backend = NumpyBackend(softmax, alter=lambda run: run.model_copy(update={"cases": run.cases[1:]}))
    pool = Pool(specification, data)
    found = await verify(specification, KERNEL, "0" * 64, backend=backend, pool=pool, random=RANDOM)
    assert found.verdict.failed_gate == "machine"


async def test_every_full_verification_adds_a_case_that_stays(data: Path) -> None:
    specification = await small("softmax", data)
    backend, pool = NumpyBackend(softmax), Pool(specification, data)
    for _ in range(2):
        await verify(specification, KERNEL, "0" * 64, backend=backend, pool=pool, random=RANDOM)
    one, two = ({case.seed for case in job.cases} for job in backend.jobs)
    assert two - one


# gates that a NumPy function cannot break by itself: the run is altered on its way back


async def altered(data: Path, alter: Callable[[Run, Job], Run]) -> Verdict:
    backend = NumpyBackend(softmax)
    backend.alter = lambda run: alter(run, backend.jobs[-1])
    specification = await small("softmax", data)
    pool = Pool(specification, data)
    found = await verify(specification, KERNEL, "0" * 64, backend=backend, pool=pool, random=RANDOM)
    return found.verdict


def with_traces(run: Run, **update: Any) -> Run:
    return run.model_copy(update={"traces": tuple(t.model_copy(update=update) for t in run.traces)})


def with_profiles(run: Run, **update: Any) -> Run:
    return run.model_copy(update={"profiles": tuple(p.model_copy(update=update) for p in run.profiles)})


def with_cases(run: Run, keys: set[str], **update: Any) -> Run:
    cases = [c.model_copy(update=update) if c.key in keys else c for c in run.cases]
    return run.model_copy(update={"cases": tuple(cases)})


def cases_where(job: Job, chosen: Callable[[Case], bool]) -> set[str]:
    return {case.key for case in job.cases if chosen(case)}


BROKEN = Finding(code="TRN2-PART-128", severity="error", message="129 partitions.", line=7, remedy="Use 128.")
RANGED = Finding(code="TRN2-ACT-RANGE", severity="warning", message="exp of 1000.", line=3)
ERROR = KernelError(code="PartitionError", message="No.", line=4, text="boom()")


@pytest.mark.parametrize(
    ("gate", "alter"),
    [
        ("language", lambda run, job: with_traces(run, outcome="failed", error=ERROR)),
        ("language", lambda run, job: with_traces(run, outcome="timeout")),
        ("language", lambda run, job: with_traces(run, outcome="exited")),
        ("language", lambda run, job: run.model_copy(update={"traces": ()})),
        ("reproducible", lambda run, job: with_traces(run, digests=("one", "two"))),
        ("reproducible", lambda run, job: with_traces(run, digests=("one",))),
        ("machine", lambda run, job: with_traces(run, findings=(BROKEN,))),
        ("machine", lambda run, job: with_cases(run, {job.cases[0].key}, error=ERROR)),
        ("machine", lambda run, job: with_cases(run, cases_where(job, _is_own), findings=(RANGED,))),
        ("outputs", lambda run, job: with_cases(run, {job.cases[0].key}, outputs=())),
        ("sensitivity", lambda run, job: with_cases(run, cases_where(job, _probed), outputs=run.cases[0].outputs)),
        ("plausibility", lambda run, job: with_profiles(run, latency_us=0.97)),
        ("plausibility", lambda run, job: with_traces(run, constant_bytes=2 << 20)),
    ],
)
async def test_each_gate_alone_stops_what_it_is_for(gate: str, alter: Callable[[Run, Job], Run], data: Path) -> None:
    verdict = await altered(data, alter)
    assert verdict.failed_gate == gate, verdict.gates
    assert not verdict.passed


def _is_own(case: Case) -> bool:
    return case.family == "own" and not case.probes


def _probed(case: Case) -> bool:
    return bool(case.probes)


async def test_a_documented_range_that_only_a_family_leaves_is_a_warning(data: Path) -> None:
    def alter(run: Run, job: Job) -> Run:
        return with_cases(run, cases_where(job, lambda case: case.family == "x100"), findings=(RANGED,))

    verdict = await altered(data, alter)
    assert verdict.passed, verdict.gates
    assert any("TRN2-ACT-RANGE" in warning for warning in verdict.warnings)


async def test_what_one_line_does_on_many_cases_is_one_warning_that_counts_them(data: Path) -> None:
    def alter(run: Run, job: Job) -> Run:
        keys = cases_where(job, lambda case: not _is_own(case))
        cases = [
            case.model_copy(update={"findings": (RANGED.model_copy(update={"message": f"exp of {at}."}),)})
            if case.key in keys
            else case
            for at, case in enumerate(run.cases)
        ]
        return run.model_copy(update={"cases": tuple(cases)})

    said = [warning for warning in (await altered(data, alter)).warnings if "TRN2-ACT-RANGE" in warning]
    assert len(said) == 1
    assert said[0].endswith(" times [TRN2-ACT-RANGE]")


async def test_many_warnings_are_written_out_in_part_and_counted(data: Path) -> None:
    many = tuple(RANGED.model_copy(update={"message": "Left.", "line": number}) for number in range(1, 41))

    def alter(run: Run, job: Job) -> Run:
        return with_cases(run, cases_where(job, lambda case: case.family == "x100"), findings=many)

    verdict = await altered(data, alter)
    assert len(verdict.warnings) == WARNINGS + 1
    assert verdict.warnings[-1] == f"And {41 - WARNINGS} more warnings."  # one says that NumPy is no program


async def test_a_machines_failure_is_an_error_and_no_verdict(data: Path) -> None:
    with pytest.raises(BackendFailed):
        await altered(data, lambda run, job: run.model_copy(update={"failure": "the disk is gone"}))


@pytest.mark.slow
async def test_two_processes_that_make_one_pool_agree_on_its_cases(data: Path, tmp_path: Path) -> None:
    specification = await small("softmax", data)
    pools = [Pool(specification, tmp_path), Pool(specification, tmp_path)]
    async with anyio.create_task_group() as tasks:
        for pool in pools:
            tasks.start_soon(pool.prepare, np.random.default_rng(id(pool)))
    one, two = [await pool.draw(np.random.default_rng(1)) for pool in pools]
    assert {p.case.key for p in one} == {p.case.key for p in two}
    kept = {path.name.partition(".")[0] async for path in anyio.Path(tmp_path).rglob("c*.npz")}
    assert kept == {p.case.key for p in one}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["npz", "inputs.npz"])
async def test_cases_that_were_lost_are_made_anew(data: Path, tmp_path: Path, kind: str) -> None:
    pool = Pool(await small("softmax", data), tmp_path)
    before = await pool.draw(RANDOM)
    lost = next(p.case.key for p in before if p.case.uploaded)
    await (await anext(anyio.Path(tmp_path).rglob(f"{lost}.{kind}"))).unlink()
    after = await pool.draw(RANDOM)
    assert len(after) > 0.9 * len(before), "a few are planned by what draws turn out to be"
    assert lost not in {p.case.key for p in after}


async def test_a_damaged_case_is_an_error_that_names_its_file(data: Path, tmp_path: Path) -> None:
    pool = Pool(await small("softmax", data), tmp_path)
    case = (await pool.draw(RANDOM))[0].case
    await (await anext(anyio.Path(tmp_path).rglob(f"{case.key}.npz"))).write_bytes(b"no")
    with pytest.raises(StateDamaged, match=case.key):
        await pool.yardstick(case)
