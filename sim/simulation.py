"""A kernel on arrays, in one call: trace, judge by the machine's rules, execute, give the outputs back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import environment
from nki_anvil.sim.errors import RuleBroken
from nki_anvil.sim.program import Program, decode
from nki_anvil.sim.schema import validate
from nki_anvil.sim.tracing import tensor_arguments, trace
from nki_anvil.sim.widening import widen, widened


def simulate(
    fn: Callable[..., Any], *args: Any, chip: str | None = None, version: str | None = None, **kwargs: Any
) -> Any:
    """The kernel's outputs as NumPy arrays: one array, or a tuple of them. Arguments that it writes change in place.

    Without ``chip`` the one of ``NEURON_PLATFORM_TARGET_OVERRIDE``, else trn2; without ``version`` that of the
    installed modules, else the current one. With ``NKI_PRECISE_FP=0`` low-precision tensors are stored as float32.
    Raises TraceError for text that is no kernel, ProgramError for a program that nobody may run (it writes to a
    constant, uses what a loop allocates outside of it), RuleBroken for what the machine refuses, ExecutionError for
    what fails while it runs.
    """
    from nki_anvil.sim.execution import Executable

    traced = trace(fn, *args, chip=chip or environment.target(os.environ), version=version, **kwargs)
    program = decode(traced.encode())  # what is judged elsewhere: nothing that its bytes do not hold may count here
    validate(program)
    sys.stdout.write(program.printed)
    _judge(program)
    given = tensor_arguments(args, kwargs)
    inputs: list[NDArray[Any]] = [np.asarray(array) for array in given]
    if not environment.precise(os.environ):
        program, inputs = widened(program), [widen(array) for array in inputs]
    outcome = Executable(program).run(inputs)
    sys.stdout.write(outcome.printed)
    _write_back(given, outcome.inputs_after, outcome.written)
    outputs = tuple(outcome.outputs)
    return outputs[0] if len(outputs) == 1 else outputs


def _judge(program: Program) -> None:
    from nki_anvil.sim.rules import check

    for finding in check(program, program.chip):
        if finding.severity == "error":
            raise RuleBroken(finding.code, finding.message, finding.line or None, finding.remedy)


def _write_back(given: Sequence[Any], after: Sequence[Any], written: Sequence[int]) -> None:
    for position in written:
        if isinstance(given[position], np.ndarray):
            np.copyto(given[position], after[position].reshape(given[position].shape), casting="unsafe")
