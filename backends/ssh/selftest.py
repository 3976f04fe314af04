"""Checks on a host every assumption that the code makes about real ones, since nobody here has one to look at.

Each check is a job like any other with a kernel whose result is known; a check that fails says what was found instead.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, stdev
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.backends import reading
from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import BackendError
from nki_anvil.backends.job import Case, InputSpec, Job, Purpose, ShapeSet
from nki_anvil.backends.run import Run
from nki_anvil.backends.ssh.examining import Step
from nki_anvil.backends.ssh.selftest_kernels import BETA1, CURRENT
from nki_anvil.backends.ssh.session import Session, parcel
from nki_anvil.backends.worker import inputs

FUNCTIONS: Final[dict[str, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "reciprocal": lambda x: 1 / x,
}
"""What the scalar engine approximates, with what it should be."""
SMALL: Final = 0.1
"""Below this an error is told as a share of it: a logarithm is zero at one."""
LOOSE: Final = 1e-2
"""Relative; beyond it a function is not the one that it is called."""
_SHAPE: Final = (128, 512)
SHAPES: Final = ShapeSet(
    name="selftest",
    inputs=(
        InputSpec(name="x", shape=_SHAPE),
        InputSpec(name="y", shape=_SHAPE),
        InputSpec(name="scale", dtype="float", value=2.0),
    ),
)
POSITIVE: Final = SHAPES.model_copy(
    update={"inputs": (InputSpec(name="x", shape=_SHAPE, domain="positive"), *SHAPES.inputs[1:])}
)
CASE: Final = Case(key="case", shapes="selftest", seed=11)

Check = Callable[["Examined"], Awaitable[str]]
"""What was found; raises AssertionError with what was found instead, or a BackendError."""


@dataclass
class Examined:
    """A host while it is tested, with what earlier checks brought."""

    session: Session
    facts: dict[str, Any]
    report: Report = silent
    runs: dict[str, Run] = field(default_factory=dict[str, Run])
    arrays: dict[str, list[NDArray[Any]]] = field(default_factory=dict[str, list[NDArray[Any]]])

    async def run(
        self,
        name: str,
        body: str,
        purpose: Purpose,
        *cases: Case,
        shapes: ShapeSet = SHAPES,
        op: str = "",
        **extra: Any,
    ) -> Run:
        """One job, with the outputs of its cases kept raw: no simulator says here what they should look like."""
        beta1 = any(one["dialect"] == "beta1" for one in self.facts["environments"])
        texts = BETA1 if beta1 else CURRENT
        text = texts["head"] + texts[body].replace("{name}", op)
        job = Job(
            purpose=purpose, kernel_digest="0" * 64, entry="kernel", shape_sets=(shapes,), cases=cases, kernel=text,
            round=-1 if purpose == "benchmark" else 0,
        )  # fmt: skip
        sent = parcel(job)
        sent.extra.update(extra)
        with tempfile.TemporaryDirectory() as place:
            await self.session.run(sent, Path(place), "device", self.report)
            found = reading.run_json(Path(place), job)
            outputs = Path(place) / reading.OUTPUTS
            if outputs.exists():
                with np.load(outputs) as archive:
                    self.arrays[name] = [archive[key] for key in sorted(archive.files)]
        assert found.failure is None, found.failure
        self.runs[name] = found
        return found


async def selftest(session: Session, facts: dict[str, Any], report: Report = silent) -> list[Step]:
    """Every check in order; one that fails does not keep the others from being made."""
    examined, steps = Examined(session, facts, report), list[Step]()
    for name, check in CHECKS.items():
        await report(name)
        try:
            steps.append(Step(name, True, await check(examined)))
        except AssertionError as error:
            steps.append(Step(name, False, str(error)))
        except KeyError as error:
            steps.append(Step(name, None, f"not reached: {error} failed"))
        except BackendError as error:
            steps.append(Step(name, False, error.message, error.remedy))
    return steps


async def _compiles(there: Examined) -> str:
    run = await there.run("verify", "two", "verify", CASE)
    trace = run.traces[0]
    assert trace.outcome == "ok", f"{trace.outcome}: {trace.error.message if trace.error else trace.printed[-300:]}"
    core = run.environment.get("compiled_on_core")
    return f"in {run.seconds['compile']:.1f} s, " + (f"only with a core ({core})" if core else "without a core")


async def _computes(there: Examined) -> str:
    run = there.runs["verify"]
    assert run.cases[0].error is None, run.cases[0].error and run.cases[0].error.message
    drawn = inputs.draw(SHAPES.model_dump(), CASE.model_dump())
    assert run.cases[0].inputs_digest == inputs.digest(drawn), "NumPy there draws other numbers: inputs are sent"
    wanted = [2 * drawn["x"], drawn["x"] - drawn["y"]]
    got = [array.view(np.float32) for array in there.arrays["verify"]]
    assert len(got) == 2, f"{len(got)} outputs for a kernel that returns two"
    swapped = np.allclose(got[0], wanted[1], rtol=1e-5) and np.allclose(got[1], wanted[0], rtol=1e-5)
    assert not swapped, "the outputs come in another order than the kernel returns them"
    errors = [float(np.abs(a - b).max()) for a, b in zip(got, wanted, strict=True)]
    assert max(errors) < 1e-5, f"the outputs are off by up to {max(errors):.3g}"
    return f"two outputs in the kernel's order, off by at most {max(errors):.2g}"


async def _leaves_inputs(there: Examined) -> str:
    mutated = there.runs["verify"].cases[0].mutated
    assert not mutated, f"inputs read back differ: {', '.join(mutated)}"
    return "inputs read back are what was sent"


async def _poisons(there: Examined) -> str:
    """Two runs with different patterns in fresh memory, of a kernel that writes half of its output."""
    for poison in (0, 1):
        await there.run(f"half{poison}", "half", "verify", CASE.model_copy(update={"poison": poison}))
    first, second = (there.arrays[f"half{poison}"][0].view(np.uint8) for poison in (0, 1))
    assert (first[64:] != second[64:]).any(), "unwritten elements look the same with both patterns: they go unseen"
    return "elements that are never written are seen"


async def _recompiles(there: Examined) -> str:
    first = there.runs["verify"].traces[0].artefact
    again = (await there.run("again", "two", "trace", fresh=True)).traces[0].artefact
    assert again == first, "compiling again gives another normalised digest: artefacts are compared by file only"
    return "compiling again gives the same normalised digest"


async def _times(there: Examined) -> str:
    run = await there.run("timed", "two", "benchmark", CASE)
    assert run.samples is not None, run.cases[0].error and run.cases[0].error.message
    us = run.samples.us
    spread = stdev(us) / median(us) if len(us) > 1 else 0.0
    return f"{run.samples.timer} ({run.environment['timer_mode']}): {median(us):.2f} us, spread {spread:.2%}"


async def _timed_outputs(there: Examined) -> str:
    said = there.runs["timed"].environment["timed_outputs"]
    assert said != "differ", "timed runs compute something else than untimed ones"
    return f"{said} to those of an untimed run" if said == "equal" else said


async def _profiles(there: Examined) -> str:
    run = await there.run("profiled", "two", "profile")
    assert run.profiles, run.cases and run.cases[0].error and run.cases[0].error.message
    metrics = run.profiles[0].metrics
    moved, wanted = metrics["hbm_read_bytes"], 2 * 4 * _SHAPE[0] * _SHAPE[1]
    assert moved >= wanted, f"hbm_read_bytes is {moved:g} where {wanted} bytes are read: another unit?"
    return f"{run.environment['profiler']}: {run.profiles[0].latency_us:.2f} us, {moved:g} bytes read"


async def _agrees(there: Examined) -> str:
    samples = there.runs["timed"].samples
    assert samples is not None
    ratio = there.runs["profiled"].profiles[0].latency_us / median(samples.us)
    assert 0.3 < ratio < 10, f"the profiler says {ratio:.2g} times what the timer says: units?"
    return f"the profiler says {ratio:.2f} times what the timer says"


async def _refuses(there: Examined) -> str:
    error = (await there.run("refused", "refused", "trace")).traces[0].error
    assert error is not None, "a tile of 256 partitions compiles"
    return f"{error.code}: {error.message[:200]}" + (f" (line {error.line})" if error.line else " (no line)")


async def _approximates(there: Examined) -> str:
    """The largest relative error of each function on positive values, against float64."""
    drawn = inputs.draw(POSITIVE.model_dump(), CASE.model_dump())["x"].astype(np.float64)
    said: list[str] = []
    for name, exact in FUNCTIONS.items():
        run = await there.run(name, "function", "verify", CASE, shapes=POSITIVE, op=name)
        trace, error = run.traces[0], next((case.error for case in run.cases if case.error), None)
        if trace.outcome != "ok" or error is not None:
            said.append(f"{name} not run")
            continue
        wanted = exact(drawn)
        got = there.arrays[name][0].view(np.float32)
        worst = float(np.max(np.abs(got - wanted) / np.maximum(np.abs(wanted), SMALL)))
        assert worst < LOOSE, f"{name} is off by {worst:.2g} of its value"
        said.append(f"{name} {worst:.2g}")
    return ", ".join(said)


async def _leases(there: Examined) -> str:
    core = there.runs["timed"].environment["core"]
    size = len(core.split(","))
    assert size == min(2, len(there.facts["cores"])), f"timing leased {size} cores"
    return f"timing leased {core}, verifying {there.runs['verify'].environment['core']}"


CHECKS: Final[dict[str, Check]] = {
    "a kernel compiles by itself, and its NEFF is kept": _compiles,
    "outputs come back right and in order": _computes,
    "functions are as accurate as they are taken for": _approximates,
    "inputs are left alone": _leaves_inputs,
    "fresh memory can be filled": _poisons,
    "compilation is reproducible": _recompiles,
    "single runs are timed": _times,
    "timed outputs can be read": _timed_outputs,
    "profiles are captured and read": _profiles,
    "timer and profiler agree": _agrees,
    "a wrong kernel is refused with a code": _refuses,
    "cores are leased": _leases,
}
