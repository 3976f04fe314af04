"""A backend whose kernels are plain NumPy functions, so that the judge can be tried without a simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.job import Case, Job, ShapeSet
from nki_anvil.backends.run import ArraySpec, CaseResult, KernelError, Origin, Profile, Run, Trace
from nki_anvil.backends.worker import inputs

KERNEL = "import nki\n\n\n@nki.jit\ndef kernel(x):\n    return x\n"
"""A text that the language gate accepts; what is executed is the function."""


class NumpyBackend:
    """Runs ``function(*arguments)`` for every case, and where it is given ``exactly`` on what float64 makes of them.

    ``alter`` may change the run before it goes back."""

    name, toolchain, cores = "numpy", "numpy-test", 1
    origin: Origin = "modelled"

    def __init__(
        self,
        function: Callable[..., Any],
        alter: Callable[[Run], Run] = lambda run: run,
        exactly: Callable[..., Any] | None = None,
    ) -> None:
        self.function, self.alter, self.exactly = function, alter, exactly
        self.jobs: list[Job] = []

    async def run(self, job: Job, report: Report = silent) -> Run:
        self.jobs.append(job)
        shapes = {s.name: s for s in job.shape_sets}
        cases = [self._case(job, case, shapes[case.shapes]) for case in job.cases]
        traces = [Trace(shapes=name, outcome="ok", digests=("same", "same"), outputs=_specs(cases)) for name in shapes]
        profiles = [Profile(shapes=name, origin="modelled", latency_us=10.0, floor_us=1.0) for name in shapes]
        run = Run(
            job=job.digest(), backend=self.name, origin="modelled", toolchain=self.toolchain,
            traces=tuple(traces), cases=tuple(cases), profiles=tuple(profiles),
        )  # fmt: skip
        return self.alter(run)

    def _case(self, job: Job, case: Case, shapes: ShapeSet) -> CaseResult:
        if case.uploaded:
            wanted = [s.name for s in shapes.inputs if s.shape is not None]
            arrays = {name: job.uploads[f"{case.key}/{name}"] for name in wanted}
        else:
            arrays = inputs.draw(shapes.model_dump(mode="json"), case.model_dump(mode="json"))
        digest = inputs.digest(arrays)
        arguments = [arrays[s.name] if s.shape is not None else _scalar(s) for s in shapes.inputs]
        before = {name: array.copy() for name, array in arrays.items()}
        try:
            with np.errstate(all="ignore"):
                given = self.function(*arguments) if case.poison == 0 else _poisoned(self.function, arguments)
        except Exception as error:
            return CaseResult(key=case.key, inputs_digest=digest, error=KernelError(code="Error", message=str(error)))
        outputs = given if isinstance(given, tuple) else (given,)
        changed = tuple(n for n, a in arrays.items() if not np.array_equal(a, before[n], equal_nan=True))
        result = CaseResult(
            key=case.key, inputs_digest=digest, outputs=tuple(map(np.asarray, outputs)), mutated=changed
        )
        return result.model_copy(update=self._exactly(arguments)) if case.exact else result

    def _exactly(self, arguments: list[Any]) -> dict[str, Any]:
        if self.exactly is None:
            return {"inexact": "a function of NumPy is no program"}
        wide = [a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in arguments]
        with np.errstate(all="ignore"):
            return {"exact": (np.asarray(self.exactly(*wide)),)}

    async def close(self) -> None:
        pass


POISON = [1e30]
"""What a kernel that leaves elements unwritten returns there."""


def _poisoned(function: Callable[..., Any], arguments: list[Any]) -> Any:
    POISON[0] = -3e29
    try:
        return function(*arguments)
    finally:
        POISON[0] = 1e30


def _scalar(spec: Any) -> Any:
    return int(spec.value) if spec.dtype == "int" else float(spec.value)


def _specs(cases: list[CaseResult]) -> tuple[ArraySpec, ...]:
    return tuple(ArraySpec(shape=o.shape, dtype=o.dtype.name) for o in (cases[0].outputs if cases else ()))
