"""Gate 2: two traces in fresh processes with other hash seeds give the same program."""

from __future__ import annotations

from nki_anvil.lab.evidence import Evidence, Judgement


def judge(evidence: Evidence) -> Judgement:
    if unknown := evidence.unknown():
        return Judgement(None, f"Not run: there is no program to compare. {unknown}")
    for trace in evidence.traces():
        if len(trace.digests) < 2 or len(set(trace.digests)) != 1:
            detail = f"Two traces at the shape set {trace.shapes} gave different programs."
            hint = "Do not iterate over sets, and do not use addresses, clocks or random numbers while tracing."
            return Judgement(False, detail, hint=hint)
    return Judgement(True, "Two traces agree.")
