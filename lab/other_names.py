"""One problem under several names in a workspace: what a kernel failed at under one of them, it fails at under all.

A verdict's key is the problem's version and not its name. Otherwise a new name would give a failed kernel new cases,
and whoever asks often enough finds cases that it passes.
"""

from __future__ import annotations

from contextlib import suppress

from nki_anvil.backends.errors import AttemptUnknown, PathOutside, StateError
from nki_anvil.lab.attempts import Attempt
from nki_anvil.lab.verdict import GATE_SET, Verdict
from nki_anvil.lab.workbench import Workbench


def failure(bench: Workbench, attempt: Attempt) -> Verdict | None:
    """The verdict of this text that failed under another name, as one of this problem."""
    for name in bench.lab.names():
        if name == bench.problem.name:
            continue
        with suppress(StateError, PathOutside, AttemptUnknown):  # what cannot be read says nothing
            found = _failed(bench, name, attempt.digest)
            if found is not None:
                return found
    return None


def _failed(bench: Workbench, name: str, digest: str) -> Verdict | None:
    other = bench.lab.problem(name)
    known = other.attempts.of(digest) if other.specification.version == bench.specification.version else None
    if known is None:
        return None
    verdict = known.verdict(
        version=bench.specification.version,
        backend=bench.backend.name,
        toolchain=bench.toolchain,
        gate_set=GATE_SET,
    )
    if verdict is None or verdict.passed:
        return None
    said = verdict.failed_at(f"The problem {name} is the same, and there: ")
    return said.model_copy(update={"problem": bench.problem.name, "seconds": 0.0})
