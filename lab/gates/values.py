"""Gate 5: right on own draws and on every family, within what honest arithmetic needs, everywhere in the output."""

from __future__ import annotations

from nki_anvil.lab.comparing import Deviation, explain, worst
from nki_anvil.lab.evidence import Evidence, Judgement


def judge(evidence: Evidence) -> Judgement:
    cases = [observed for observed in evidence.observed if not observed.case.probes]
    if not any(observed.own for observed in cases):
        return Judgement(False, "No case of the problem's own distribution came back.")
    found = [worst(observed, evidence.specification) for observed in cases]
    error = max((d.error for d, o in zip(found, cases, strict=True) if o.own), default=0.0)
    most = max(found, key=_rank)
    if most.share <= 1.0:
        detail = f"{len(cases)} cases, at most {most.share:.0%} of a limit used."
        return Judgement(True, detail, worst_error=error, limit_use=most.share)
    wrong = sum(deviation.share > 1.0 for deviation in found)
    shown = explain(cases[found.index(most)], most)
    return Judgement(
        False,
        f"{wrong} of {len(cases)} cases are wrong. {shown.sentence}",
        code=shown.where.pattern,
        hint=shown.hint,
        where=shown.where,
        heat=shown.heat,
        worst_error=error,
        limit_use=most.share,
    )


def _rank(deviation: Deviation) -> tuple[bool, bool, float]:
    """A case that is wrong on own draws explains more than one of a family."""
    return deviation.share > 1.0, deviation.share > 1.0 and deviation.own, deviation.share
