"""Gate 3: nothing that the chip forbids, on own inputs nor on any other, no loop that floats steer, no lots."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nki_anvil.backends.run import Finding, KernelError
from nki_anvil.lab.evidence import Evidence, Judgement
from nki_anvil.lab.specification import Specification

RANGE_CODES = ("TRN2-ACT-RANGE",)
"""Leaving an activation's documented range: an error on own inputs, a warning where only a family does it."""

_NUMBERS = re.compile(r"-?(\d[\d.]*(e[-+]?\d+)?|inf|nan)")

DECLARED = {"DATA-LOOP": "data_loops", "DATA-LOT": "stochastic"}
"""Errors unless the problem says so: what ordinary inputs never run, and what is hardly ever drawn, is not seen to be
right."""


def judge(evidence: Evidence) -> Judgement:
    findings = [finding for trace in evidence.traces() for finding in trace.findings]
    findings = [_declared(finding, evidence.specification) for finding in findings]
    warnings = tuple(
        dict.fromkeys(_said(f) for f in [*findings, *_once(_outside(evidence))] if f.severity == "warning")
    )
    for error in findings:
        if error.severity == "error":
            return _broken(error, warnings)
    if failure := _not_executed(evidence):
        return failure
    for finding in _errors(evidence):
        return _broken(finding, warnings)
    if unknown := evidence.unknown():
        return Judgement(None, f"Not run: the device took it, and there is no program to check. {unknown}")
    return Judgement(True, "No rule is broken." if not warnings else f"{len(warnings)} warnings.", warnings=warnings)


def _declared(finding: Finding, specification: Specification) -> Finding:
    declared = DECLARED.get(finding.code)
    if declared is None or getattr(specification, declared):
        return finding
    return finding.model_copy(update={"severity": "error"})


def _errors(evidence: Evidence) -> Iterator[Finding]:
    for observed in evidence.observed:
        for finding in observed.result.findings:
            ranged = finding.code in RANGE_CODES
            if (finding.severity == "error" and not ranged) or (ranged and observed.own and not observed.case.probes):
                yield finding


def _outside(evidence: Evidence) -> Iterator[Finding]:
    """What only happens on values that a family made."""
    for observed in evidence.observed:
        if not observed.own:
            for finding in observed.result.findings:
                yield finding.model_copy(update={"severity": "warning"}) if finding.code in RANGE_CODES else finding


def _once(findings: Iterator[Finding]) -> Iterator[Finding]:
    """What one line does on many cases is said once, with the first one's numbers, and counted."""
    places: dict[tuple[str, str, int | None, str], list[Finding]] = {}
    for finding in findings:
        what = _NUMBERS.sub("", finding.message)
        places.setdefault((finding.code, finding.severity, finding.line, what), []).append(finding)
    for found in places.values():
        yield found[0].model_copy(update={"count": sum(finding.count for finding in found)})


def _not_executed(evidence: Evidence) -> Judgement | None:
    for observed in sorted(evidence.observed, key=lambda o: not o.own):
        if observed.result.error is not None:
            return _stopped(observed.result.error, observed.case.family)
    return None


def _stopped(error: KernelError, family: str) -> Judgement:
    inputs = "its own inputs" if family == "own" else f"inputs of the family {family.partition('/')[0]}"
    detail = f"Executing it on {inputs} failed: {error.message}{_at(error.line, error.text)}"
    return Judgement(False, detail, code=error.code, line=error.line, hint=error.remedy)


def _broken(finding: Finding, warnings: tuple[str, ...]) -> Judgement:
    return Judgement(
        False, _said(finding), code=finding.code, line=finding.line, hint=finding.remedy, warnings=warnings
    )  # fmt: skip


def _said(finding: Finding) -> str:
    times = f", {finding.count} times" if finding.count > 1 else ""
    return f"{finding.message}{_at(finding.line, finding.text)}{times} [{finding.code}]"


def _at(line: int | None, text: str) -> str:
    return f" (line {line}{': ' + text if text else ''})" if line else ""
