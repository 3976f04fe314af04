"""How far the performance model is from public recordings of real devices, and what predicting costs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table
from simulator_speed import ONE_THREAD, SEEDS, fastest_s

from nki_anvil.sim.calibration import Replay, replay

SHAPES = ("default", "nkibench")


def tables() -> Iterator[Table]:
    cases = replay()
    yield _accuracy("Model against public recordings", [case for case in cases if not case.unfitted])
    unfitted = [case for case in cases if case.unfitted]
    yield _accuracy("Model against public recordings that no constant was fitted to", unfitted)
    for shapes in SHAPES:
        yield _cost(shapes)


def _accuracy(title: str, cases: list[Replay]) -> Table:
    table = Table("case", "quantity", "measured", "predicted", "ratio", "goal", title=title)
    for case in cases:
        measured, predicted = f"{case.measured:,.4g} {case.unit}", f"{case.predicted:,.4g} {case.unit}"
        goal = f"within {case.goal:g}x" + ("" if case.within_goal else "  missed")
        table.add_row(case.case, case.quantity, measured, predicted, f"{case.ratio:.2f}", goal)
    return table


def _cost(shapes: str) -> Table:
    title = f"Predicting against simulating once, shapes {shapes}, CPU seconds (goal: below 1)"
    table = Table("seed", "instructions", "predict s", "specialise and run s", "ratio", title=title)
    for seed in SEEDS:
        found = _measured(seed, shapes)
        ratio = found["predict"] / found["simulate"]
        times = [f"{found[name]:.4f}" for name in ("predict", "simulate")]
        table.add_row(
            seed.name, f"{found['instructions']:,}", *times, f"{ratio:.2f}" + ("" if ratio < 1 else "  missed")
        )
    return table


def _measured(seed: Path, shapes: str) -> dict[str, Any]:
    """``measure`` in a process of its own."""
    command = [sys.executable, __file__, str(seed), shapes]
    done = subprocess.run(command, env={**os.environ, **ONE_THREAD}, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def measure(seed: Path, shapes: str) -> dict[str, float]:
    """Seconds of an estimate, and of making a program executable and running it on one set of inputs."""
    import numpy as np
    from seed_kernels import kernel_of, reference_of

    from nki_anvil.sim.execution import Executable
    from nki_anvil.sim.profile import estimate
    from nki_anvil.sim.tracing import trace

    np.random.seed(1)
    inputs = reference_of(seed, shapes).get_inputs()
    arrays = [value for value in inputs if isinstance(value, np.ndarray)]
    program = trace(kernel_of(seed), *inputs)
    return {
        "instructions": len(program),
        "predict": fastest_s(lambda: estimate(program)),
        "simulate": fastest_s(lambda: Executable(program).run(arrays)),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(Path(sys.argv[1]), sys.argv[2])))
