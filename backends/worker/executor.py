"""The process that gives programs their meaning: it validates, checks, costs and executes them on the cases' inputs.

It never imports kernel text. It reads one JSON object per line, a shape set with the files of its two programs, and
writes one per line: progress, the trace's findings, a result per case, a profile, and the end of the shape set.
"""

from __future__ import annotations

import importlib
import json
import re
import signal
import sys
import time
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Optional
from urllib.parse import quote

import numpy as np

from nki_anvil.backends.worker import arrays, inputs, isolation, records, seccomp
from nki_anvil.backends.worker.leaning import Leaning

OUTPUTS = "outputs.npz"
UPLOADS = "inputs.npz"
CONSTANTS = "constants.json"
"""Constants of the performance model that were fitted to a host: ``source`` and ``values``. May be missing."""
KERNEL = "kernel.py"
_BETA1_IMPORT = re.compile(rb"^[ \t]*(?:from|import)\b[^\n#]*\bneuronxcc\b", re.MULTILINE)
_MEMORY_SHARE = 0.75
"""Of the machine's memory, for this process."""


class OutOfTime(Exception):
    """Executing the cases took longer than the job allows: a loop whose end depends on data, or too slow a kernel."""

    code = "Timeout"
    line = None
    remedy = "Check the end of loops that depend on data."


class TooMuchOutput(Exception):
    """The outputs of all cases together are larger than the job allows."""

    code = "TooLarge"
    line = None
    remedy = ""


class TooMuchMemory(Exception):
    """The program's tensors do not fit into what the executor may take."""

    code = "OutOfMemory"
    line = None
    remedy = "Give the kernel fewer or smaller tensors, in HBM as well, or smaller shapes to work on."


class NotCosted(Exception):
    """The performance model has no answer for a program that is otherwise valid."""

    code = "NotCosted"
    line = None
    remedy = "Write the newest change in another way, and report the kernel: every valid program should have a cost."

    def __init__(self, error: Exception) -> None:
        said = f"{type(error).__name__}: {str(error)[:200]}"
        super().__init__(f"The performance model cannot say what the program costs ({said}).")


_HOPELESS = ("SIM-STEPS", OutOfTime.code, TooMuchMemory.code)
"""Errors after which no further case of the shape set is tried."""


def main() -> None:
    """Serve shape sets until standard input ends."""
    isolation.detach()
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_bytes())
    _import_simulator()
    _say(environment={"numpy": np.__version__})
    isolation.limit(isolation.Bounds(int(job["limits"]["execute_s"]) * 4 + 60, _memory(), None, None))
    isolation.volunteer_for_out_of_memory()
    if seccomp.supported():
        seccomp.apply()
    with arrays.open_to_write(folder / OUTPUTS) as archive:
        execution = Execution(job, folder, archive)
        for line in sys.stdin:
            execution.shape_set(json.loads(line))


class Execution:
    """One job's shape sets, one after the other, within one allowance of time and bytes."""

    def __init__(self, job: dict[str, Any], folder: Path, archive: zipfile.ZipFile) -> None:
        self.job, self.folder, self.archive = job, folder, archive
        self.seconds_left = float(job["limits"]["execute_s"])
        self.bytes_left = int(job["limits"]["output_bytes"])
        self.done = 0

    def shape_set(self, request: dict[str, Any]) -> None:
        """Everything that is to be known of one shape set's programs."""
        seconds: dict[str, float] = {}
        shapes = _named(self.job["shape_sets"], request["shapes"])
        try:
            with _measured(seconds, "check"):
                beta1 = _imports_beta1((self.folder / KERNEL).read_bytes())
                program, trace = _checked(request["programs"], self.job, beta1)
            _say(trace=trace)
            if program is not None:
                with _measured(seconds, "execute"):
                    trips = self._cases(program, shapes) if self._to_execute(program) else None
                with _measured(seconds, "estimate"):
                    self._costed(program, shapes["name"], trips, trace)
        except MemoryError:
            _say(failure="the executor ran out of memory")
        _say(end=shapes["name"], seconds=seconds)

    def _to_execute(self, program: Any) -> bool:
        """The model needs values only for loops whose end depends on them."""
        return self.job["purpose"] == "verify" or len(program.tables["regions"]["kind"]) > 0

    def _cases(self, program: Any, shapes: dict[str, Any]) -> Optional[tuple[int, ...]]:
        """Execute the shape set's cases; returns the trip counts of the first that came to its end.

        Last those that are run in other orders, of a program that has them.
        """
        cases = [case for case in self.job["cases"] if case["shapes"] == shapes["name"]]
        trips = self._series(
            program, shapes, [case for case in cases if not case.get("order")], self.job.get("choices", False)
        )
        if trips is not None and program.unordered:
            for order in dict.fromkeys(case["order"] for case in cases if case.get("order")):
                chosen = [case for case in cases if case.get("order") == order]
                self._series(program.turned(order, chosen[0]["seed"]), shapes, chosen)
        return trips

    def _series(
        self, program: Any, shapes: dict[str, Any], cases: list[dict[str, Any]], leaning: bool = False
    ) -> Optional[tuple[int, ...]]:
        """``leaning`` ones are looked at for choices on which nothing hangs."""
        from nki_anvil.sim.execution import Executable, ExecutionError

        if not cases:
            return None
        try:
            watch = Leaning(program) if leaning else None
            executable = Executable(program, choices=watch and watch.choices)
            exactly, inexact = _exactly(program, cases)
        except (ExecutionError, MemoryError) as error:
            _give_up(cases, records.error(_named_error(error)))
            return None
        trips: Optional[tuple[int, ...]] = None
        for position, case in enumerate(cases):
            self.done += 1
            _say(progress=f"case {self.done} of {len(self.job['cases'])}")
            result, counted = self._case(executable, exactly, inexact, shapes, case, watch)
            trips = trips if trips is not None else counted
            _say(case=result)
            if result.get("error", {}).get("code") in _HOPELESS:
                _give_up(cases[position + 1 :], result["error"])
                break
        if watch is not None and (told := watch.told()):
            _say(choices=told)
        return trips

    def _case(
        self,
        executable: Any,
        exactly: Any,
        inexact: str,
        shapes: dict[str, Any],
        case: dict[str, Any],
        leaning: Optional[Leaning],
    ) -> tuple[dict[str, Any], Optional[tuple[int, ...]]]:
        from nki_anvil.sim.execution import ExecutionError

        drawn = self._inputs(shapes, case)
        result: dict[str, Any] = {"key": case["key"], "inputs_digest": inputs.digest(drawn)}
        if leaning is not None:
            leaning.choices.begin()
        try:
            with self._allowance():
                outcome = executable.run([*drawn.values()], case["poison"], case.get("again", False), case["lot"])
            self._keep(case["key"], outcome.outputs)
            if leaning is not None and "." not in case["key"]:
                self._lean(leaning, executable, case, drawn, outcome.outputs)
            if exactly and case["exact"]:
                result |= self._case_exactly(exactly, case, drawn)
            elif inexact and case["exact"]:
                result |= {"inexact": inexact, "unlike": self._is_unlike(executable, case, drawn, outcome.outputs)}
        except (ExecutionError, OutOfTime, TooMuchOutput, MemoryError) as error:
            return {**result, "error": records.error(_named_error(error))}, None
        names = list(drawn)
        result["findings"] = records.findings(outcome.findings)
        result["mutated"] = [names[position] for position in outcome.written]
        result["trips"] = {str(region): int(count) for region, count in enumerate(outcome.trips)}
        return result, tuple(outcome.trips)

    def _case_exactly(self, exactly: Any, case: dict[str, Any], drawn: dict[str, Any]) -> dict[str, Any]:
        """With the other poison: what memory held before has no meaning either."""
        from nki_anvil.sim.execution import ExecutionError

        try:
            with self._allowance():
                outcome = exactly.run(list(drawn.values()), poison=1 - case["poison"], lot=case["lot"])
        except ExecutionError as error:
            return {"exact_error": records.error(error)}
        self._keep(f"{case['key']}/{arrays.EXACT}", outcome.outputs)
        return {"ran_exactly": True}

    def _lean(
        self, leaning: Leaning, executable: Any, case: dict[str, Any], drawn: dict[str, Any], outputs: Any
    ) -> None:
        """It never takes what the cases may still need."""
        from nki_anvil.sim.execution import ExecutionError

        if self.seconds_left < self.job["limits"]["execute_s"] / 2:
            leaning.give_up()
        spent = self.job["limits"]["execute_s"] - self.seconds_left

        def run() -> Any:
            try:
                with self._allowance(1 / 8):
                    return executable.run([*drawn.values()], case["poison"], lot=case["lot"]).outputs
            except (ExecutionError, OutOfTime):
                return None

        for key, others in leaning.after(case, outputs, spent, run):
            self._keep(key, others)
            _say(case={"key": key, "inputs_digest": ""})

    def _is_unlike(self, executable: Any, case: dict[str, Any], drawn: dict[str, Any], outputs: Any) -> bool:
        """Whether the program gives other bits where fresh memory holds the other pattern."""
        with self._allowance():
            other = executable.run([*drawn.values()], 1 - case["poison"], case["again"], case["lot"]).outputs
        return any(one.tobytes() != two.tobytes() for one, two in zip(outputs, other, strict=True))

    def _inputs(self, shapes: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
        if not case["uploaded"]:
            return inputs.draw(shapes, case)
        from nki_anvil.sim.dtypes import numpy_dtype

        wanted = {spec["name"]: numpy_dtype(spec["dtype"]) for spec in shapes["inputs"] if spec["shape"] is not None}
        with arrays.open_to_read(self.folder / UPLOADS, sys.maxsize) as archive:
            return {name: arrays.read(archive, f"{case['key']}/{name}", dtype) for name, dtype in wanted.items()}

    def _keep(self, key: str, outputs: Any) -> None:
        self.bytes_left -= sum(output.nbytes for output in outputs)
        if self.bytes_left < 0:
            raise TooMuchOutput(f"The outputs have more than {self.job['limits']['output_bytes']} bytes in all.")
        for position, output in enumerate(outputs):
            arrays.write(self.archive, f"{key}/{position}", output)

    def _costed(self, program: Any, shapes: str, trips: Optional[tuple[int, ...]], trace: dict[str, Any]) -> None:
        """A profile; where the model stumbles over the program, the trace says so instead of the process ending."""
        try:
            self._estimate(program, shapes, trips)
        except MemoryError:
            raise
        except Exception as error:
            _say(trace={**trace, "outcome": "failed", "error": records.error(NotCosted(error))})

    def _estimate(self, program: Any, shapes: str, trips: Optional[tuple[int, ...]]) -> None:
        from nki_anvil.sim.profile import estimate

        drawn = self.job["purpose"] == "profile"
        found = estimate(program, self.job["chip"], trips, timeline=drawn, constants=_constants(self.folder))
        _say(profile=records.profile(found, shapes))
        if found.timeline:
            (self.folder / f"timeline.{quote(shapes, safe='')}.json").write_text(found.timeline)

    @contextmanager
    def _allowance(self, share: float = 1.0) -> Generator[None]:
        """Interrupts the program when that share of the job's time is used up; what it took is subtracted."""
        started = time.monotonic()
        signal.signal(signal.SIGALRM, self._out_of_time)
        signal.setitimer(signal.ITIMER_REAL, max(self.seconds_left * share, 1e-3))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.seconds_left -= time.monotonic() - started

    def _out_of_time(self, _signal: int, _frame: Any) -> NoReturn:
        limit = self.job["limits"]["execute_s"]
        raise OutOfTime(f"Executing the cases was stopped after {limit:g} s in all.")


def _exactly(program: Any, cases: list[dict[str, Any]]) -> tuple[Any, str]:
    """The program with every float in float64, where a case asks for it; or None, and why it has no meaning so."""
    from nki_anvil.sim.execution import Executable, NotSimulated
    from nki_anvil.sim.execution.formats import Formats

    asking = [case for case in cases if case["exact"]]
    formats = Formats(exact=True, moved=max((case["moved"] for case in asking), default=0))
    try:
        return (Executable(program, formats=formats) if asking else None), ""
    except NotSimulated as error:
        return None, error.message


def _named_error(error: BaseException) -> BaseException:
    if isinstance(error, MemoryError):
        return TooMuchMemory(f"Executing it needs more than the {_memory() >> 20} MiB that a program may take here.")
    return error


def _give_up(cases: list[dict[str, Any]], error: dict[str, Any]) -> None:
    """What stopped one case stops the rest of them unseen."""
    for case in cases:
        _say(case={"key": case["key"], "inputs_digest": "", "error": error})


def _checked(files: list[str], job: dict[str, Any], beta1: bool) -> tuple[Any, dict[str, Any]]:
    """The first program and what is to be said of both; no program where either is malformed or not for this job."""
    from nki_anvil.sim import rules, schema
    from nki_anvil.sim.program import ProgramError, decode

    data = [Path(file).read_bytes() for file in files]
    try:
        programs = {one: decode(one) for one in data}  # equal bytes are read once
        for program in programs.values():
            schema.validate(program)
            _refuse_others(program, job, beta1)
        digests = {one: program.digest() for one, program in programs.items()}
        program = programs[data[0]]
        trace = records.trace(program, [digests[one] for one in data])
        return program, {**trace, "findings": records.findings(rules.check(program, job["chip"]))}
    except ProgramError as error:
        return None, {"outcome": "malformed", "error": records.error(error, code="ProgramError")}
    except Exception as error:  # bytes from hostile text: what stumbles over them is no failure of the machine
        message = f"The program cannot be checked: {type(error).__name__}: {str(error)[:200]}."
        return None, {"outcome": "malformed", "error": records.error(ProgramError(message), code="ProgramError")}


def _refuse_others(program: Any, job: dict[str, Any], beta1: bool) -> None:
    """A program says for itself how many cores, which chip and whose rules it wants; the job and the imports decide."""
    from nki_anvil.sim.program import ProgramError
    from nki_anvil.sim.rules.rule import BETA1

    if program.cores != job["lnc"]:
        raise ProgramError(f"the program runs on {program.cores} cores, the problem on {job['lnc']}")
    # A Beta 1 kernel is one in every version: its imports say so, and its rules are the newest but for what PSUM holds.
    if program.chip != job["chip"] or program.version not in (job["version"], *((BETA1,) if beta1 else ())):
        found, wanted = f"{program.chip} and NKI {program.version}", f"{job['chip']} and NKI {job['version']}"
        raise ProgramError(f"the program is for {found}, the job for {wanted}")
    if program.version != BETA1 and program.unordered:
        raise ProgramError("only a Beta 1 program has loops without an order")


def _imports_beta1(text: bytes) -> bool:
    return _BETA1_IMPORT.search(text) is not None


def _constants(folder: Path) -> Any:
    from nki_anvil.sim.constants import Constants

    path = folder / CONSTANTS
    return Constants(**json.loads(path.read_bytes())) if path.exists() else None


def _import_simulator() -> None:
    """Loaded while the kernel is still being traced elsewhere."""
    for module in ("execution", "profile", "rules", "schema"):
        importlib.import_module(f"nki_anvil.sim.{module}")


def _memory() -> int:
    return int(isolation.physical_bytes() * _MEMORY_SHARE)


def _named(things: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(thing for thing in things if thing["name"] == name)


def _say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


@contextmanager
def _measured(seconds: dict[str, float], stage: str) -> Generator[None]:
    started = time.monotonic()
    try:
        yield
    finally:
        seconds[stage] = time.monotonic() - started


if __name__ == "__main__":
    main()
