"""Whether a run profiled and timed what was verified: the program's instructions and, on a device, its artefact."""

from __future__ import annotations

from nki_anvil.backends.run import Run
from nki_anvil.lab.verdict import Verdict


def stranger(run: Run, artefact: str, shapes: str) -> str | None:
    """What was done with another artefact than this one, in a word; None where every one is the same or unknown."""
    profiled = [profile.artefact for profile in run.profiles if profile.shapes == shapes]
    timed = [run.samples.artefact] if run.samples is not None else []
    if any(other and other != artefact for other in profiled):
        return "profiled"
    return "timed" if any(other and other != artefact for other in timed) else None


def departs(run: Run, verdict: Verdict, shapes: str) -> str | None:
    """How a later run differs from what passed, in words; None where it is the same.

    Tracing a text again may give another program, by hash seeds or luck: then nothing is known of that program.
    """
    trace = next((trace for trace in run.traces if trace.shapes == shapes), None)
    if trace is None:
        return None
    if verdict.instruction_digest and set(trace.digests) - {verdict.instruction_digest}:
        return "it was traced to another program than the one that was verified"
    if not verdict.artefact:
        return None
    if trace.artefact and trace.artefact != verdict.artefact:
        return "it was compiled to another artefact than the one that was verified"
    what = stranger(run, verdict.artefact, shapes)
    return f"another artefact was {what} than the one that was verified" if what else None
