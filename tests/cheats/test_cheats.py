"""Every known exploit is stopped by its gate and every honest kernel passes, through the real simulator.

An exploit meets the inputs that are known to show it. Of the slower ones every gate has one of each family that shows
them, and of the slower honest kernels every second seed has one and a few other problems; with NKI_ANVIL_ENDURANCE=1
all are judged, the exploits by all that a claim would.
"""

import ast
import os

import pytest
from cheats.catalogue import CHEATS, FOLDER, HONEST, SEEDS, Entry
from court import Court

from nki_anvil.lab import verification
from nki_anvil.lab.evidence import Judgement
from nki_anvil.lab.gates import language

pytestmark = pytest.mark.anyio
ENDURANCE = bool(os.environ.get("NKI_ANVIL_ENDURANCE"))


def entries(kernels: list[Entry]) -> list[object]:
    return [pytest.param(e, id=str(e), marks=() if e.quick else pytest.mark.slow) for e in kernels]


def shown_in_short() -> list[Entry]:
    """The quick ones, and of the others the last of each family that shows one of a gate's."""
    last = {(cheat.gate, cheat.family.partition("/")[0]): cheat for cheat in CHEATS if not cheat.quick}
    return [cheat for cheat in CHEATS if cheat.quick or cheat in last.values()]


@pytest.mark.parametrize("cheat", entries(CHEATS if ENDURANCE else shown_in_short()))
async def test_a_known_exploit_is_stopped_by_its_gate(cheat: Entry, court_of_few: Court, court: Court) -> None:
    """The inputs that are known to show it may do by chance alone: what passes there is judged by all."""
    verdict = await court_of_few.judge(cheat.problem, cheat.text())
    if ENDURANCE or verdict.failed_gate != cheat.gate:
        verdict = await court.judge_a_claim(cheat.problem, cheat.text())
    assert verdict.failed_gate == cheat.gate, verdict.gates
    assert next(gate.detail for gate in verdict.gates if gate.passed is False)


def in_short() -> list[Entry]:
    """The quick ones, and of the others one of every second seed, and of every eighth problem that only these tests
    have."""
    first = {kernel.problem: kernel for kernel in reversed(HONEST) if not kernel.quick}
    seeds = {path.name for path in SEEDS.iterdir()}
    chosen = {*sorted(seeds)[::2], *sorted(first.keys() - seeds)[::8]}
    return [k for k in HONEST if k.quick or (k.problem in chosen and first[k.problem] is k)]


@pytest.mark.parametrize("kernel", entries(HONEST if ENDURANCE else in_short()))
async def test_an_honest_kernel_passes(kernel: Entry, court: Court) -> None:
    verdict = await court.judge(kernel.problem, kernel.text())
    assert verdict.passed, verdict.gates
    assert verdict.limit_use is not None
    assert verdict.limit_use < 1


CLAIMED = (
    "bmm_softmax_backwards",
    "softmax online",
    *(("bmm_softmax_fused", "row_top_by_classes_of_columns", "rmsnorm folded", "matmul better") if ENDURANCE else ()),
)
"""Some of the honest: products whose sums are taken in other blocks, and statistics in other steps."""


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [kernel for kernel in HONEST if kernel.name in CLAIMED], ids=str)
async def test_an_honest_kernel_passes_the_look_before_it_is_claimed(kernel: Entry, court: Court) -> None:
    verdict = await court.judge_a_claim(kernel.problem, kernel.text())
    assert verdict.passed, verdict.gates


def test_every_kernel_here_is_in_the_catalogue() -> None:
    whole = {*(FOLDER / "wrong").glob("*.py"), *(FOLDER / "honest").glob("*.py")}
    assert whole <= {entry.path for entry in [*CHEATS, *HONEST]}
    assert len({entry.name for entry in [*CHEATS, *HONEST]}) == len(CHEATS) + len(HONEST)
    assert len(HONEST) >= 30


@pytest.mark.parametrize("entry", [*CHEATS, *HONEST], ids=str)
def test_a_change_is_one_of_the_kernel_that_the_problem_has_today(entry: Entry) -> None:
    assert ast.get_docstring(ast.parse(entry.text()))
    assert bool(entry.changes) == (entry.text() != entry.path.read_text())


ONLY = {
    "machine": "returns_a_transposed_view",
    "outputs": "writes_its_input",
    "values": "softmax_with_the_maximum_of_the_first_tile",
    "plausibility": "carries_answers_as_constants",
}
"""By gate, an exploit that no other gate stops. Others have theirs, broken runs of a machine and traces that differ, in
``tests/lab/gates/test_each_gate.py``."""


@pytest.mark.slow
@pytest.mark.parametrize("gate", ONLY)
async def test_without_a_gate_its_exploit_passes(gate: str, court: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    cheat = next(cheat for cheat in CHEATS if cheat.name == ONLY[gate])
    assert cheat.gate == gate
    monkeypatch.setitem(verification.GATES, gate, lambda evidence: Judgement(True, "disconnected"))
    verdict = await court.judge(cheat.problem, cheat.text())
    assert verdict.passed, verdict.gates


@pytest.mark.slow
async def test_without_the_allow_list_its_exploit_passes(court: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    cheat = next(cheat for cheat in CHEATS if cheat.name == "falls_back_to_another_way")
    monkeypatch.setattr(language, "objections", lambda text, entry, **_: [])
    verdict = await court.judge(cheat.problem, cheat.text())
    assert verdict.passed, verdict.gates
