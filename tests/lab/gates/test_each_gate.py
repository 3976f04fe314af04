"""Nine gates, each of which alone stands between something wrong and a passed verdict: without it, that passes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy_backend import KERNEL, NumpyBackend
from small_softmax import small_softmax

from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.run import Finding, KernelError, Run, Samples
from nki_anvil.lab import verification
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.evidence import Judgement
from nki_anvil.lab.gates import language
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import GATE_NAMES, Verdict

pytestmark = pytest.mark.anyio
Alter = Callable[[Run, Job], Run]


def softmax(x: Any) -> Any:
    w = np.exp(x - x.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def half_maximum(x: Any) -> Any:
    w = np.exp(x - x[:, : x.shape[1] // 2].max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def untouched(run: Run, _job: Job) -> Run:
    return run


def traces(run: Run, _job: Job, **update: Any) -> Run:
    return run.model_copy(update={"traces": tuple(trace.model_copy(update=update) for trace in run.traces)})


def profiles(run: Run, _job: Job, **update: Any) -> Run:
    return run.model_copy(update={"profiles": tuple(p.model_copy(update=update) for p in run.profiles)})


def cases(run: Run, job: Job, *, chosen: Callable[[Case], bool], **update: Any) -> Run:
    keys = {case.key for case in job.cases if chosen(case)}
    return run.model_copy(
        update={"cases": tuple(c.model_copy(update=update) if c.key in keys else c for c in run.cases)}
    )


def deaf(run: Run, job: Job) -> Run:
    """Probed cases are answered as if nothing had been disturbed."""
    return cases(run, job, chosen=lambda case: bool(case.probes), outputs=run.cases[0].outputs)


def drifting(run: Run, job: Job) -> Run:
    """The repeated case comes back one bit off."""
    [output] = run.cases[0].outputs
    return cases(run, job, chosen=lambda c: c.key.endswith(".again"), outputs=(np.nextafter(output, np.float32(1)),))


def compiled(run: Run, job: Job, *, verified: str = "a1", profiled: str = "a1", timed: str = "a1") -> Run:
    """As a device would answer that compiled once for the verification and once more for the profile."""
    run = profiles(traces(run, job, artefact=verified), job, artefact=profiled)
    return run.model_copy(update={"origin": "device", "samples": Samples(us=(10.0,), timer="stand-in", artefact=timed)})


BROKEN = Finding(code="TRN2-PART-128", severity="error", message="129 partitions.", line=7, remedy="Use 128.")


@dataclass(frozen=True)
class Wrong:
    """What exactly one gate stops."""

    kernel: Callable[..., Any] = softmax
    alter: Alter = untouched
    text: str = KERNEL


WRONG = {
    "language": Wrong(text=KERNEL.replace("return x", "return eval('x')")),
    "reproducible": Wrong(alter=partial(traces, digests=("one", "two"))),
    "machine": Wrong(alter=partial(traces, findings=(BROKEN,))),
    "outputs": Wrong(alter=partial(cases, chosen=lambda case: True, mutated=("x",))),
    "values": Wrong(kernel=half_maximum),
    "sensitivity": Wrong(alter=deaf),
    "determinism": Wrong(alter=drifting),
    "plausibility": Wrong(alter=partial(profiles, latency_us=0.97)),
    "artefact": Wrong(alter=partial(compiled, profiled="a2")),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


OPENED: list[Specification] = []


async def judged(wrong: Wrong, data: Path, **declared: Any) -> Verdict:
    """A full verification of a softmax of 160 x 192 by the real gates."""
    if not OPENED:
        OPENED.append(await small_softmax(data))
    specification = OPENED[0].model_copy(update=declared)
    backend = NumpyBackend(wrong.kernel)
    backend.alter = lambda run: wrong.alter(run, backend.jobs[-1])
    found = await verification.verify(
        specification, wrong.text, "0" * 64, backend=backend, pool=Pool(specification, data),
        random=np.random.default_rng(5),
    )  # fmt: skip
    return found.verdict


def disconnect(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = Judgement(True, "disconnected")
    if gate == "language":
        monkeypatch.setattr(language, "judge", lambda *given, **named: passed)
    else:
        monkeypatch.setitem(verification.GATES, gate, lambda evidence: passed)


def test_every_gate_is_connected_in_order_and_has_something_that_only_it_stops() -> None:
    assert ("language", *verification.GATES) == GATE_NAMES
    assert tuple(WRONG) == GATE_NAMES


@pytest.mark.parametrize("gate", GATE_NAMES)
async def test_a_gate_stops_what_passes_without_it(gate: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await judged(WRONG[gate], data)).failed_gate == gate
    disconnect(gate, monkeypatch)
    verdict = await judged(WRONG[gate], data)
    assert verdict.passed, verdict.gates


@pytest.mark.parametrize(
    ("in_place", "returned", "passed"), [({}, (None,), False), ({"x": 0}, (0,), True), ({}, (0,), True)]
)
async def test_a_mutable_input_that_no_output_is_stays_as_it_is(
    in_place: dict[str, int], returned: tuple[int | None, ...], passed: bool, data: Path
) -> None:
    def wiping(run: Run, job: Job) -> Run:
        return traces(cases(run, job, chosen=lambda case: True, mutated=("x",)), job, returned=returned)

    await judged(Wrong(), data)
    [x] = OPENED[0].shape_sets["default"].inputs
    shapes = {
        "default": OPENED[0]
        .shape_sets["default"]
        .model_copy(update={"inputs": (x.model_copy(update={"mutable": True}),)})
    }
    verdict = await judged(Wrong(alter=wiping), data, shape_sets=shapes, in_place=in_place)
    assert verdict.passed == passed, verdict.gates
    if not passed:
        said = next(gate.detail for gate in verdict.gates if gate.name == "outputs")
        assert said == "The kernel wrote to its input x, which is mutable; the reference leaves it as it is."


async def test_what_hangs_on_what_no_page_tells_names_the_lines_whose_form_shows_it(data: Path) -> None:
    untold = Finding(code="TRN2-UNTOLD", severity="warning", message="No page tells the slope.", line=7, remedy="Bend.")

    def otherwise(run: Run, job: Job) -> Run:
        other = np.zeros_like(run.cases[0].outputs[0])
        shown = cases(run, job, chosen=lambda case: case.key.endswith(".poisoned"), outputs=(other,))
        return traces(shown, job, findings=(untold,))

    verdict = await judged(Wrong(alter=otherwise), data)
    assert verdict.failed_gate == "outputs"
    said = next(gate.detail for gate in verdict.gates if gate.name == "outputs")
    assert "leave open: " in said
    assert said.endswith("No page tells the slope (line 7).")


@pytest.mark.parametrize(("code", "declared"), [("DATA-LOOP", "data_loops"), ("DATA-LOT", "stochastic")])
async def test_loops_that_floats_steer_and_lots_are_refused_unless_the_problem_allows_them(
    code: str, declared: str, data: Path
) -> None:
    found = Finding(code=code, severity="warning", message="It depends.", line=7, remedy="Declare it.")
    wrong = Wrong(alter=partial(traces, findings=(found,)))
    refused, allowed = await judged(wrong, data), await judged(wrong, data, **{declared: True})
    assert (refused.failed_gate, refused.hint) == ("machine", "Declare it.")
    assert allowed.passed
    assert any(f"[{code}]" in warning for warning in allowed.warnings)


BETA1 = KERNEL.replace("import nki\n", "import neuronxcc.nki as nki\n")
SHIFTED = np.full((160, 192), 1 / 192, np.float32)


def unordered(run: Run, job: Job, order: str = "", **update: Any) -> Run:
    """A program whose loops have no order, of which one is told of other outputs, or of an error."""
    return cases(traces(run, job, unordered=True), job, chosen=lambda case: case.order == order != "", **update)


def left_out(run: Run, job: Job) -> Run:
    kept = tuple(case for case in run.cases if not case.key.endswith(".abreast"))
    return unordered(run.model_copy(update={"cases": kept}), job)


def last_bits(run: Run, job: Job) -> Run:
    """Sums in another order."""
    [output] = run.cases[0].outputs
    return unordered(run, job, "backwards", outputs=(np.nextafter(output, np.float32(1)),))


FAILED = KernelError(code="SIM-FAILED", message="An index is out of bounds.")


@pytest.mark.parametrize(
    ("alter", "says"),
    [
        (partial(unordered, order="backwards", outputs=(SHIFTED,)), "from the last to the first, output 0 at"),
        (partial(unordered, order="abreast", outputs=(SHIFTED,)), "several at a time, output 0 at"),
        (partial(unordered, order="abreast", outputs=()), "of another form"),
        (partial(unordered, order="backwards", outputs=(), error=FAILED), "out of bounds"),
        (left_out, "No result came back"),
    ],
)
async def test_a_result_that_hangs_on_the_order_of_iterations_without_one_is_refused(
    alter: Alter, says: str, data: Path
) -> None:
    verdict = await judged(Wrong(alter=alter, text=BETA1), data)
    assert verdict.failed_gate == "outputs", verdict.gates
    assert says in next(gate.detail for gate in verdict.gates if gate.passed is False)
    assert "nl.sequential_range" in verdict.hint


@pytest.mark.parametrize(
    "alter", [unordered, last_bits, partial(cases, chosen=lambda case: bool(case.order), outputs=(SHIFTED,))]
)
async def test_other_roundings_and_programs_without_such_loops_pass(alter: Alter, data: Path) -> None:
    verdict = await judged(Wrong(alter=alter, text=BETA1), data)
    assert verdict.passed, verdict.gates


async def test_a_kernel_that_is_wrong_in_every_order_is_told_where_it_is_wrong(data: Path) -> None:
    assert (await judged(Wrong(half_maximum, unordered, BETA1), data)).failed_gate == "values"


@pytest.mark.parametrize(
    ("alter", "passed", "says"),
    [
        (untouched, None, "Not applicable"),
        (compiled, True, "is what was profiled and timed"),
        (partial(compiled, verified=""), None, "Not available"),
        (partial(compiled, profiled="", timed=""), True, "is what was profiled and timed"),
        (partial(compiled, profiled="a2"), False, "profiled is not the artefact"),
        (partial(compiled, timed="a2"), False, "timed is not the artefact"),
    ],
)
async def test_on_a_device_only_the_verified_artefact_is_profiled_and_timed(
    alter: Alter, passed: bool | None, says: str, data: Path
) -> None:
    gate = (await judged(Wrong(alter=alter), data)).gates[-1]
    assert (gate.name, gate.passed) == ("artefact", passed)
    assert says in gate.detail
