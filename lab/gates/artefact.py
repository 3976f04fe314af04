"""Gate 9: on a device, what was verified is what is profiled and timed."""

from __future__ import annotations

from nki_anvil.lab.evidence import Evidence, Judgement


def judge(evidence: Evidence) -> Judgement:
    if evidence.run.origin == "modelled":
        return Judgement(None, "Not applicable: the simulator executes and times one program; nothing is compiled.")
    return Judgement(None, "Not available: this backend reports no artefact.")
