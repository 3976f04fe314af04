"""Reads a job's result folder: the evidence, checked for form and capped in size. It believes none of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from nki_anvil.backends.errors import BackendFailed
from nki_anvil.backends.job import Job
from nki_anvil.backends.run import ArraySpec, CaseResult, Profile, Run, Trace
from nki_anvil.backends.worker import arrays
from nki_anvil.backends.worker.leaning import LEANING
from nki_anvil.sim.dtypes import FLOATS, numpy_dtype

RUN: Final = "run.json"
OUTPUTS: Final = "outputs.npz"
_RUN_BYTES: Final = 256 << 20
_TIMELINE_BYTES: Final = 256 << 20


def run_json(folder: Path, job: Job) -> Run:
    """The evidence without its arrays. Raises BackendFailed where it is too large, damaged, or another job's."""
    path = folder / RUN
    if path.stat().st_size > _RUN_BYTES:
        raise BackendFailed(f"The worker's result has more than {_RUN_BYTES >> 20} MiB.")
    try:
        run = Run.model_validate_json(path.read_bytes(), strict=True)
    except ValidationError as error:
        message = f"The worker's result is damaged: {error.error_count()} fields are not as they should be."
        raise BackendFailed(message, "Call again.") from error
    if run.job != job.digest():
        raise BackendFailed("The worker's result belongs to another job.", "Call again.")
    return run


def complete(folder: Path, job: Job, run: Run) -> Run:
    """The evidence with its arrays and timelines. Raises BackendFailed where they are damaged."""
    profiles = tuple(_with_timeline(profile, folder) for profile in run.profiles)
    return run.model_copy(update={"cases": _with_arrays(folder, job, run), "profiles": profiles})


def _with_arrays(folder: Path, job: Job, run: Run) -> tuple[CaseResult, ...]:
    if all(case.error for case in run.cases):
        return run.cases
    try:
        with arrays.open_to_read(folder / OUTPUTS, job.limits.output_bytes + (64 << 20)) as archive:
            return tuple(_with_outputs(case, job, run, archive) for case in run.cases)
    except arrays.DamagedArrays as error:
        raise BackendFailed(f"The worker's result is damaged: {error}.", "Call again.") from error


def _with_outputs(case: CaseResult, job: Job, run: Run, archive: Any) -> CaseResult:
    if case.error is not None:
        return case
    trace = _trace_of(case, job, run)
    outputs = tuple(
        _shaped(arrays.read(archive, f"{case.key}/{position}", numpy_dtype(spec.dtype)), spec.shape)
        for position, spec in enumerate(trace.outputs)
    )
    if not case.ran_exactly:
        return case.model_copy(update={"outputs": outputs})
    exact = tuple(_exactly(archive, case.key, position, spec) for position, spec in enumerate(trace.outputs))
    return case.model_copy(update={"outputs": outputs, "exact": exact})


def _exactly(archive: Any, key: str, position: int, spec: ArraySpec) -> NDArray[Any]:
    dtype = np.dtype(np.float64) if spec.dtype in FLOATS else numpy_dtype(spec.dtype)
    return _shaped(arrays.read(archive, f"{key}/{arrays.EXACT}/{position}", dtype), spec.shape)


def _shaped(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if array.shape != shape:
        raise arrays.DamagedArrays(f"an output has shape {array.shape} where its program says {shape}")
    return array


def _trace_of(case: CaseResult, job: Job, run: Run) -> Trace:
    shapes = {asked.key: asked.shapes for asked in job.cases}.get(case.key.partition(LEANING)[0])
    for trace in run.traces:
        if trace.shapes == shapes:
            return trace
    raise arrays.DamagedArrays(f"the case {case.key} was not asked for")


def _with_timeline(profile: Profile, folder: Path) -> Profile:
    path = folder / f"timeline.{quote(profile.shapes, safe='')}.json"
    if not path.exists() or path.stat().st_size > _TIMELINE_BYTES:
        return profile
    return profile.model_copy(update={"timeline": path.read_text()})
