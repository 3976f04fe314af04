"""Gate 5: right on own draws and on every family, within what honest arithmetic needs, everywhere in the output."""

from __future__ import annotations

from collections.abc import Sequence

from nki_anvil.lab import idle
from nki_anvil.lab.comparing import Deviation, explain, worst
from nki_anvil.lab.evidence import Evidence, Judgement, Observed
from nki_anvil.lab.exactness import LIMIT


def judge(evidence: Evidence) -> Judgement:
    cases = [observed for observed in evidence.observed if not observed.case.probes]
    if not any(observed.own for observed in cases):
        return Judgement(False, "No case of the problem's own distribution came back.")
    if wrong := _not_exactly(evidence.observed):
        return wrong
    found = [worst(observed, evidence.specification) for observed in cases]
    error = max((d.error for d, o in zip(found, cases, strict=True) if o.own), default=0.0)
    most = max(found, key=_rank)
    if most.share <= 1.0:
        detail = f"{len(cases)} cases, at most {most.share:.0%} of a limit used."
        return Judgement(
            True,
            detail,
            worst_error=error,
            limit_use=most.share,
            warnings=_inexact(cases),
            unjudged=tuple(idle.choices(evidence)),
        )
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


def _not_exactly(observed: Sequence[Observed]) -> Judgement | None:
    """A case that was to be run with every float in float64 has such outputs, or a reason why it has not."""
    for case, result in ((one.case, one.result) for one in observed if one.case.exact):
        if (error := result.exact_error) is not None:
            said = f"With every float in float64, executing it fails: {error.message}"
            return Judgement(False, said, code=error.code, line=error.line, hint=error.remedy)
        if not (result.exact or result.inexact or result.error):
            return Judgement(False, f"No outputs in float64 came back for a case of the family {case.family}.")
    return None


def _inexact(observed: Sequence[Observed]) -> tuple[str, ...]:
    reasons = dict.fromkeys(one.result.inexact for one in observed if one.result.inexact)
    return tuple(f"Not judged with every float in float64: {reason}." for reason in reasons)


def _rank(deviation: Deviation) -> tuple[bool, bool, bool, float]:
    """What the chip itself makes wrong explains more than float64 does, and own draws more than a family."""
    wrong = deviation.share > 1.0
    return wrong, wrong and deviation.use.limit != LIMIT, wrong and deviation.own, deviation.share
