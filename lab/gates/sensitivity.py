"""Gate 6: where the reference answers one strongly disturbed element, the kernel answers alike."""

from __future__ import annotations

from nki_anvil.lab.comparing import explain, worst
from nki_anvil.lab.evidence import Evidence, Judgement


def judge(evidence: Evidence) -> Judgement:
    cases = [observed for observed in evidence.observed if observed.case.probes]
    if not cases:
        return Judgement(None, "Not applicable: the reference answers no single element clearly enough.")
    found = [worst(observed, evidence.specification) for observed in cases]
    most = max(found, key=lambda deviation: deviation.share)
    if most.share <= 1.0:
        return Judgement(
            True, f"{len(cases)} disturbed elements are answered as the reference does.", limit_use=most.share
        )
    case = cases[found.index(most)]
    element, shown = case.case.probes[0].input, explain(case, most)
    unlike = f"One element of {element} was disturbed, and the kernel does not answer as the reference does."
    hint = f"Does every element of {element} reach the output? {shown.hint}"
    detail = f"{unlike} {shown.sentence}"
    return Judgement(False, detail, hint=hint, where=shown.where, heat=shown.heat, limit_use=most.share)
