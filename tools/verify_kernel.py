"""The tool ``verify_kernel``."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from nki_anvil.lab import verifying
from nki_anvil.lab.results import Verified
from nki_anvil.lab.verdict import GateResult, Where
from nki_anvil.lab.workbench import Workbench
from nki_anvil.tools.call import Call
from nki_anvil.tools.crediting import credited, withdrawn
from nki_anvil.tools.declaration import Declaration
from nki_anvil.tools.parameters import KernelPath, Parent, Plan, Problem, ShownId, Source
from nki_anvil.tools.result import LongResult
from nki_anvil.tools.wording import guarded, sentence


def _finite(value: Any) -> Any:
    return value if not isinstance(value, float) or math.isfinite(value) else None


Finite = Annotated[float | None, BeforeValidator(_finite)]
"""JSON has no NaN: an element that is not finite is null, and the hint says so."""


class WorstPlace(BaseModel):
    """Where the worst error is."""

    model_config = ConfigDict(from_attributes=True)

    output: int
    index: tuple[int, ...]
    row: tuple[int, ...]
    family: str
    shapes: str
    got: Finite
    expected: Finite
    pattern: str = ""
    excerpt: str = ""


class Gate(BaseModel):
    """One of the nine gates: passed is null where it was not reached, does not apply or is not available."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    passed: bool | None
    detail: str = ""


class VerifyKernel(LongResult):
    passed: bool | None = None
    digest: str | None = None
    attempt: int | None = None
    repeated: bool | None = None
    gates: list[Gate] | None = None
    worst_error: Finite = None
    tolerance: float | None = None
    where: WorstPlace | None = None
    hint: str | None = None
    heat_map: str | None = None
    origin: str | None = None
    same_as: int | None = None
    restored: str | None = None
    warnings: list[str] | None = None

    def outdated(self, bench: Workbench) -> bool:
        return bool(self.passed) and not all(map(bench.passes, self.texts))


async def verify_kernel(
    call: Call,
    problem: Problem,
    kernel_path: KernelPath = None,
    source: Source = None,
    parent: Parent = None,
    plan: Plan = None,
    shown_id: ShownId = None,
) -> VerifyKernel:
    """Judge whether a kernel is right: nine gates, on inputs it has never seen.

    Call it after every edit; benchmark_kernel refuses a kernel that did not pass. A kernel that does not parse or
    run is a failed verdict with its line, not an error. Returns each gate, the worst error and where it is, and a
    hint what to fix. The same text again gives the stored verdict. Seconds for the seeds.
    """
    lab = await call.laboratory()
    verified = await verifying.verify_kernel(
        lab,
        problem,
        kernel_path=kernel_path,
        source=source,
        parent=parent,
        plan=plan,
        shown_id=shown_id,
        report=call.report,
    )
    credit = "" if verified.repeated else await credited(call, problem, [verified.attempt])
    taken = "" if verified.passed or verified.repeated else await withdrawn(call, problem)
    return VerifyKernel.of(
        verified,
        summary=sentence(_summary(verified, credit), taken),
        next_steps=_next_steps(verified),
        gates=[Gate.model_validate(gate) for gate in verified.gates],
        where=_where(verified.where),
        warnings=[*verified.warnings],
    )


def _where(where: Where | None) -> WorstPlace | None:
    return None if where is None else WorstPlace.model_validate(where)


def _failed(gates: tuple[GateResult, ...]) -> GateResult | None:
    return next((gate for gate in gates if gate.passed is False), None)


def _summary(verified: Verified, credit: str) -> str:
    again = " (judged before)" if verified.repeated else ""
    restored = f"Best is back in {verified.restored}" if verified.restored else ""
    failed = _failed(verified.gates)
    if verified.passed:
        known = f"Its instructions are those of attempt {verified.same_as}" if verified.same_as is not None else ""
        but = ", but for what no case shows: see its warnings" if verified.unjudged else ""
        return sentence(f"Attempt {verified.attempt} is right{again}{but}", known, credit)
    reason = f"fails at gate '{failed.name}': {failed.detail}" if failed else "did not pass: a gate was left unreached"
    return sentence(f"Attempt {verified.attempt} {reason}{again}", restored, credit)


def _next_steps(verified: Verified) -> list[str]:
    if verified.passed:
        idle = ["Leave out what the warnings say no case shows, or tell the user what nobody has judged."]
        return [*(idle if verified.unjudged else []), "benchmark_kernel: find out whether it is faster than best."]
    named = "the hint names" if verified.hint else "the failed gate says"
    back = ", or revert_to_best" if verified.has_best else ""
    steps = [f"Fix what {named} and call verify_kernel again{back}."]
    if verified.restored:
        steps.insert(0, f"Read {verified.restored} again: it holds best now.")
    return guarded(verified.guard, steps)


TOOL = Declaration(
    verify_kernel, title="Verify a kernel", read_only=False, destructive=False, idempotent=True, long=True
)
