"""Gate 2: two fresh processes with other hash seeds trace the same program.

One executes the statements that tracing keeps, the other all of the file, as whoever imports it does.
"""

from __future__ import annotations

from nki_anvil.lab.evidence import Evidence, Judgement


def judge(evidence: Evidence) -> Judgement:
    if unknown := evidence.unknown():
        return Judgement(None, f"Not run: there is no program to compare. {unknown}")
    for trace in evidence.traces():
        if len(trace.digests) < 2 or len(set(trace.digests)) != 1:
            detail = f"Two traces at the shape set {trace.shapes} gave different programs."
            hint = (
                "Do not iterate over sets, do not use addresses, clocks or random numbers while tracing, and let no "
                "statement of the file change the kernel for whoever imports it."
            )
            return Judgement(False, detail, hint=hint)
    return Judgement(True, "Two traces agree.")
