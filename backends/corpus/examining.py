"""One kernel on given arguments: traced, judged by the machine's rules, executed, priced; and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Record = dict[str, Any]


@dataclass
class Examined:
    """How far a kernel came, and its outputs if it came to its end."""

    record: Record
    outputs: list[Any] = field(default_factory=list[Any])

    @property
    def executed(self) -> bool:
        return bool(self.record["executed"])


def examine(
    kernel: Any, positional: Sequence[Any], named: Mapping[str, Any], chip: str = "trn2", version: str | None = None
) -> Examined:
    """Take a kernel as far as it goes, under the installed modules' version where none is named.

    Arguments that it writes change in place, as on the machine.
    """
    from nki_anvil.sim.errors import TraceError
    from nki_anvil.sim.execution import ExecutionError
    from nki_anvil.sim.program import ProgramError
    from nki_anvil.sim.rules import check
    from nki_anvil.sim.tracing import trace

    record: Record = {"traced": False, "executed": False, "findings": []}
    try:
        program = trace(kernel, *positional, chip=chip, version=version, **named)
        record |= {"traced": True, "instructions": len(program), "cores": program.cores}
        record["findings"] = _listed(check(program, chip))
        if not any(found["severity"] == "error" for found in record["findings"]):
            return _executed(program, record, positional, named)
    except (TraceError, ExecutionError, ProgramError) as error:
        record["error"] = failure(error)
    return Examined(record)


def failure(error: BaseException) -> Record:
    """An error as a record: a stable code where it has one, its line, what it says and what to do."""
    return {
        "code": str(getattr(error, "code", "") or type(error).__name__),
        "message": str(getattr(error, "message", "") or error),
        "line": getattr(error, "line", None),
        "remedy": str(getattr(error, "remedy", "")),
    }


def _listed(findings: Iterable[Any]) -> list[Record]:
    return [
        {"code": one.code, "severity": one.severity, "line": one.line, "message": one.message, "count": one.count}
        for one in findings
    ]


def _executed(program: Any, record: Record, positional: Sequence[Any], named: Mapping[str, Any]) -> Examined:
    from nki_anvil.sim.execution import Executable
    from nki_anvil.sim.profile import estimate
    from nki_anvil.sim.tracing import tensor_arguments

    given = tensor_arguments(positional, named)
    outcome = Executable(program).run([np.asarray(array) for array in given])
    for position in outcome.written:
        np.copyto(given[position], outcome.inputs_after[position].reshape(given[position].shape))
    record["executed"] = True
    record["findings"] += _listed(outcome.findings)
    record["latency_us"] = estimate(program, program.chip, tuple(outcome.trips)).latency_us
    return Examined(record, list(outcome.outputs))
