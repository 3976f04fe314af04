"""Outputs of timed runs, compared once more: a kernel may be right while it is looked at and wrong while it is timed.

A new best is looked at in this way on machines whose timer gives outputs back; where none come, nothing is claimed.
"""

from __future__ import annotations

import numpy as np

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.run import CaseResult
from nki_anvil.lab import comparing
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.evidence import Observed
from nki_anvil.lab.timing import Arm, job, refuse_failures
from nki_anvil.lab.workbench import Workbench

ROUND = -1
"""Number of this job's round: no round of a comparison bears it."""


async def wrong_when_timed(bench: Workbench, arm: Arm, report: Report = silent) -> str | None:
    """How the outputs of a timed run on inputs that never were differ from the reference's; None where they do not.

    Raises as ``time_arm``.
    """
    if bench.origin == "modelled" or bench.specification.e2e is not None:
        return None  # every run of a command is judged by its own accuracy
    await report("comparing what a timed run computes")
    case, sent = _job(bench, arm)
    run = await bench.backend.run(sent, report)
    refuse_failures(run, arm)
    bench.spend(sum(run.seconds.values()))
    result = next((one for one in run.cases if one.key == case.key and one.outputs), None)
    return await _compared(bench, case, result) if result is not None else None


def _job(bench: Workbench, arm: Arm) -> tuple[Case, Job]:
    seed = int(bench.lab.random.integers(1, 2**62))
    case = Case(key=f"r{seed:016x}", shapes=bench.specification.timed, seed=seed)
    sent = job(bench.specification, arm, "benchmark", seed=seed, number=ROUND)
    return case, sent.model_copy(update={"cases": (case,)})


async def _compared(bench: Workbench, case: Case, result: CaseResult) -> str | None:
    specification, pool = bench.specification, Pool(bench.specification, bench.lab.data)
    pooled = await pool.add([case]) if specification.own_draws == "inputs" else []
    if not pooled or pooled[0].inputs_digest != result.inputs_digest:
        return None  # other inputs than the server's: they cannot be judged here
    observed = Observed(case, result, await pool.yardstick(case))
    shapes = [np.shape(output) for output in result.outputs]
    if not specification.reshapes and shapes != [wanted.r.shape for wanted in observed.yardstick.outputs]:
        return f"the outputs have the shapes {shapes}"
    worst = comparing.worst(observed, specification)
    return None if worst.share <= 1 else comparing.explain(observed, worst).sentence
