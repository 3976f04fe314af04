"""The process that runs one program on arrays that lie beside it: ``python ... execution_process FOLDER``.

It never sees kernel text. It leaves ``answer.json`` with what the run took, and the outputs as ``.npy`` files.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from nki_anvil.backends.worker import isolation

Record = dict[str, Any]

RUNS: Final = 3
LONG_S: Final = 0.5
"""A run that takes this long is not repeated: its share of noise is small."""


def main(folder: Path) -> None:
    request: Record = json.loads((folder / "request.json").read_text())
    isolation.die_with_parent()
    isolation.volunteer_for_out_of_memory()
    isolation.limit(isolation.Bounds(int(request["seconds"]) + 5, int(request["memory_bytes"])))
    try:
        answer = execute(request, folder)
    except MemoryError:
        answer = {"failed": {"code": "OutOfMemory", "message": "It needs more memory than it may have.", "line": None}}
    except Exception as error:
        answer = {"failed": _failure(error)}
    partial = folder / "answer.partial"
    partial.write_text(json.dumps(answer))
    partial.replace(folder / "answer.json")


def execute(request: Record, folder: Path) -> Record:
    """Validate, check by the machine's rules, execute, estimate."""
    from nki_anvil.sim import rules, schema
    from nki_anvil.sim.execution import Executable
    from nki_anvil.sim.profile import estimate
    from nki_anvil.sim.program import decode

    taken: dict[str, float] = {}
    with _timed(taken, "prepared_s"):
        program = decode((folder / "program").read_bytes())
        schema.validate(program)
        broken = [one for one in rules.check(program, request["chip"]) if one.severity == "error"]
        if broken:
            first = broken[0]
            return {"failed": {"code": first.code, "message": f"{first.message} {first.remedy}", "line": first.line}}
        executable = Executable(program)
    arrays = [_array(folder / f"input{i}.npy", spec) for i, spec in enumerate(request["arguments"]) if "shape" in spec]
    taken["simulated_s"], outcome = fastest(lambda: executable.run(arrays))
    peak = _peak_mb()
    for position, output in enumerate(outcome.outputs):
        np.save(folder / f"output{position}.npy", output)
    found = estimate(program, request["chip"], outcome.trips)
    return {
        **taken,
        "outputs": len(outcome.outputs),
        "peak_memory_mb": peak,
        "modelled_us": float(found.latency_us),
        "instructions": len(program),
    }


def fastest(run: Callable[[], Any]) -> tuple[float, Any]:
    """The processor seconds of the fastest of a few runs, as others' load only adds to them; and the last result."""
    best, result = float("inf"), None
    for _ in range(RUNS):
        result = None  # gives its memory back before the next run takes as much
        started = time.process_time()
        result = run()
        best = min(best, time.process_time() - started)
        if best > LONG_S:
            break
    return best, result


def _peak_mb() -> float:
    """The most memory that this process has had resident; what its parent had does not count where Linux tells."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _array(path: Path, spec: Record) -> Any:
    from nki_anvil.sim.dtypes import numpy_dtype

    return np.load(path, mmap_mode="r").view(numpy_dtype(spec["dtype"])).reshape(spec["shape"])


@contextmanager
def _timed(taken: dict[str, float], name: str) -> Generator[None]:
    """Processor seconds: those of a busy machine are as long as those of an idle one."""
    started = time.process_time()
    try:
        yield
    finally:
        taken[name] = time.process_time() - started


def _failure(error: Exception) -> Record:
    code = getattr(error, "code", None) or type(error).__name__
    return {"code": str(code), "message": str(error), "line": getattr(error, "line", None)}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
