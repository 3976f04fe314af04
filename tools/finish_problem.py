"""The tool ``finish_problem``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nki_anvil.lab import finishing
from nki_anvil.lab.results import Finished
from nki_anvil.lab.workbench import Workbench
from nki_anvil.tools.call import Call
from nki_anvil.tools.crediting import taking_back, withdrawn
from nki_anvil.tools.declaration import Declaration
from nki_anvil.tools.parameters import Problem
from nki_anvil.tools.result import LongResult
from nki_anvil.tools.score import ContestScore, scored
from nki_anvil.tools.wording import count, interval, microseconds, percent, sentence, stands_in, times


class FinishProblem(LongResult):
    problem: str | None = None
    origin: str | None = None
    best_digest: str | None = None
    baseline_digest: str | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    latency_us: float | None = None
    baseline_latency_us: float | None = None
    percent_of_peak: float | None = None
    percent_of_bound: float | None = None
    rounds: int | None = None
    flags: list[str] | None = None
    attempts: Annotated[int | None, Field(description="Without the baseline.")] = None
    kept: Annotated[int | None, Field(description="Without the baseline.")] = None
    score: ContestScore | None = None
    report: Annotated[str | None, Field(description="Resource: the report in HTML.")] = None
    report_path: str | None = None
    evidence: Annotated[str | None, Field(description="Seal of the evidence file, for whoever checks it.")] = None
    evidence_path: str | None = None
    unjudged: Annotated[
        list[str] | None, Field(description="What the best kernel does that shows in no case: tell the user.")
    ] = None
    faults: Annotated[
        list[str] | None, Field(description="What an audit finds in the records: the claim rests on them.")
    ] = None

    def outdated(self, bench: Workbench) -> bool:
        best = bench.best_today()
        now = (best.digest, best.baseline.digest) if best else (None, None)
        return (self.best_digest, self.baseline_digest) != now


async def finish_problem(call: Call, problem: Problem) -> FinishProblem:
    """Verify the best kernel on cases not seen before, measure it against the baseline anew, and write the report.

    Call it when problem_status says converged, the budget is spent, or the user wants to stop; its figure is the
    claim to report. Nothing is closed: a finished problem can be taken up again. Seconds at small shapes,
    minutes at large ones or on a device.
    """
    lab = await call.laboratory()
    async with taking_back(call, problem):
        finished = await finishing.finish_problem(lab, problem, report=call.report)
    taken = await withdrawn(call, problem)
    return FinishProblem.of(
        finished,
        summary=sentence(_summary(finished), taken),
        attempts=_tried(finished),
        kept=_kept(finished),
        next_steps=_next_steps(finished),
        flags=[*finished.flags],
        unjudged=[*finished.unjudged] or None,
        faults=[*finished.faults] or None,
        score=ContestScore.of(finished.score),
    )


def _summary(finished: Finished) -> str:
    tried = f"{_kept(finished)} kept of {count(_tried(finished), 'attempt')}"
    if finished.speedup is None:
        return sentence(f"{finished.problem}: no kernel passed", _deposed(finished), tried, *_faults(finished))
    share = percent(finished.percent_of_peak, "peak") + percent(finished.percent_of_bound, "bound")
    between = interval(finished.speedup_low, finished.speedup_high)
    latencies = f"{microseconds(finished.baseline_latency_us)} to {microseconds(finished.latency_us)}"
    how = "reported anew by the command" if finished.score else "measured anew"
    how = how if finished.origin == "device" else "both modelled anew, nothing measured"
    return sentence(
        f"{finished.problem}: {times(finished.speedup)}{between} of the baseline, {how}: {latencies}{share}"
        f"{scored(finished.score, 'the baseline')}",
        _deposed(finished),
        stands_in(finished.fallen),
        tried,
        _unjudged(finished),
        *_faults(finished),
    )


def _unjudged(finished: Finished) -> str:
    if not finished.unjudged:
        return ""
    return f"{count(len(finished.unjudged), 'choice')} of its text shows in no case and is not judged (unjudged)"


def _deposed(finished: Finished) -> str:
    if finished.deposed is None:
        return ""
    who = f"attempt {finished.deposed}, best until now, failed on cases that no call had seen"
    return f"{who}: verify_kernel with its text tells where"


def _faults(finished: Finished) -> list[str]:
    if not finished.faults:
        return []
    return [f"the records do not agree ({count(len(finished.faults), 'fault')}), so this claim does not stand"]


def _tried(finished: Finished) -> int:
    """Attempts without the baseline, which is the first kernel that passed; there is none where nothing has."""
    return finished.attempts - (finished.baseline_digest is not None)


def _kept(finished: Finished) -> int:
    return max(0, finished.kept - (finished.baseline_digest is not None))


def _next_steps(finished: Finished) -> list[str]:
    if finished.faults:
        return [f"Tell the user what the audit found first: {finished.faults[0]}; `nki-anvil audit` shows it all."]
    if finished.speedup is None:
        return [f"Tell the user that no kernel passed; the report is {finished.report_path}. Then verify_kernel again."]
    shown = f"Tell the user this figure, that it is {finished.origin}, and where the report is: {finished.report_path}."
    checked = [f"`nki-anvil audit {finished.evidence_path}` checks the evidence."] if finished.evidence_path else []
    return [shown, *checked, "To go on later: problem_status."]


TOOL = Declaration(
    finish_problem, title="Finish a problem", read_only=False, destructive=False, idempotent=True, long=True
)
