"""Gate 9: on a device, what was verified is what is profiled and timed."""

from __future__ import annotations

from nki_anvil.lab import artefacts
from nki_anvil.lab.evidence import Evidence, Judgement


def judge(evidence: Evidence) -> Judgement:
    run = evidence.run
    if run.origin == "modelled":
        return Judgement(None, "Not applicable: the simulator executes and times one program; nothing is compiled.")
    if not all(trace.artefact for trace in run.traces):
        return Judgement(None, "Not available: this backend reports no artefact.")
    for trace in run.traces:
        if what := artefacts.stranger(run, trace.artefact, trace.shapes):
            hint = "Verify again with an empty compiler cache; if it happens again, compilation is not reproducible."
            return Judgement(False, f"What was {what} is not the artefact that was verified.", hint=hint)
    return Judgement(True, "What was verified is what was profiled and timed.")
