"""What simulating a seed's kernel costs, against its own NumPy reference in the same process with one BLAS thread.

Times are seconds of this process's CPU, user and system: what else the machine does counts little.
Every seed is measured in a process of its own, so that peaks of memory are per seed. As a script this file is that
process: it prints the measurements of one seed as JSON.
"""

import gc
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from rich.table import Table

T = TypeVar("T")

SEEDS = sorted(path.parent for path in (Path(__file__).parents[2] / "seeds/problems").glob("*/problem.toml"))
GOALS = "goals: geometric mean at most 3, none above 10"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Read by the BLAS when NumPy is imported; two threads do not help at tile size."""
ENOUGH_S = 1.0
"""A run that takes this long is measured once more, a shorter one until this much time has passed."""


def fastest_s(run: Callable[[], object]) -> float:
    """The best of at least two runs, in seconds."""
    times: list[float] = []
    while len(times) < 2 or sum(times) < ENOUGH_S:
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def timed(run: Callable[[], T]) -> tuple[T, float]:
    began = time.process_time()
    result = run()
    return result, time.process_time() - began


def peak_mb() -> float:
    """The most memory that this process has held, in MB; getrusage also counts the process that started this one."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(seed: Path, shapes: str) -> dict[str, float]:
    """Seconds of each stage and of the reference, and the peak of memory in MB before the reference runs."""
    import numpy as np
    from seed_kernels import kernel_of, reference_of

    from nki_anvil.sim import rules, schema
    from nki_anvil.sim.execution import Executable
    from nki_anvil.sim.tracing import trace

    np.random.seed(1)
    kernel, reference = kernel_of(seed), reference_of(seed, shapes)
    empty = peak_mb()
    inputs = reference.get_inputs()
    arrays = [value for value in inputs if isinstance(value, np.ndarray)]
    program, traced = timed(lambda: trace(kernel, *inputs))
    gc.collect()
    executable, specialised = timed(lambda: Executable(program))
    outcome = executable.run(arrays)
    held = 2 * sum(array.nbytes for array in (*arrays, *outcome.outputs)) / 2**20
    peak = peak_mb() - empty
    del outcome
    simulated = fastest_s(lambda: executable.run(arrays))
    _, validated = timed(lambda: schema.validate(program))
    _, checked = timed(lambda: rules.check(program))
    times = {"trace": traced, "validate": validated, "check": checked, "specialise": specialised}
    return {
        **times,
        "instructions": len(program),
        "simulate": simulated,
        "peak": peak,
        "held": held,
        "reference": fastest_s(lambda: reference.forward(*inputs)),
    }


def measured(seed: Path, shapes: str) -> dict[str, Any]:
    """``measure`` in a process of its own."""
    command = [sys.executable, __file__, str(seed), shapes]
    done = subprocess.run(command, env={**os.environ, **ONE_THREAD}, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


COLUMNS = ("trace", "validate", "check", "specialise", "simulate", "reference")


def tables(shapes: str = "nkibench") -> Iterator[Table]:
    title = f"Simulator, shapes {shapes}, CPU seconds, one BLAS thread on both sides ({GOALS})"
    heads = ("seed", "instructions", *(f"{name} s" for name in COLUMNS), "ratio", "peak MB", "in+out twice MB")
    table = Table(*heads, title=title)
    ratios: list[float] = []
    for seed in SEEDS:
        found = measured(seed, shapes)
        ratios.append(found["simulate"] / found["reference"])
        times = [f"{found[name]:.4f}" for name in COLUMNS]
        memory = [f"{found[name]:,.0f}" for name in ("peak", "held")]
        table.add_row(seed.name, f"{found['instructions']:,}", *times, f"{ratios[-1]:.2f}", *memory)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    table.add_section()
    table.add_row("geometric mean", *[""] * (len(COLUMNS) + 1), f"{mean:.2f}")
    table.add_row("worst", *[""] * (len(COLUMNS) + 1), f"{max(ratios):.2f}")
    yield table


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(Path(sys.argv[1]), sys.argv[2])))
